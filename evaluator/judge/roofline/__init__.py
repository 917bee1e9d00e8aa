"""How fast a device can be, and the least time of a call that follows from it."""
