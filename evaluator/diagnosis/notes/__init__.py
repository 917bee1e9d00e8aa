"""Notes that help to fix or speed up a submission. They decide no verdict."""
