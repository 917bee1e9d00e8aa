"""A description of the wrong elements of an output, for the reader of a verdict."""
