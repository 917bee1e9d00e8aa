"""Whether a problem is fit to judge submissions by."""
