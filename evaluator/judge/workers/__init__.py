"""The judge's side of its workers: starting them, sending requests, and memory shared with them."""
