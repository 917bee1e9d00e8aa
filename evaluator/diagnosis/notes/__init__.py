"""Notes that help to repair or speed up a submission; none of them is a reason for a verdict."""
