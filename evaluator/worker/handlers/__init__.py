"""What the worker does for each kind of request; each handler takes the worker's state, the request and its descriptors."""
