"""The worker's handlers, one per kind of request; each takes the worker's state, the request and its descriptors."""
