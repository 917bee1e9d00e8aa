"""Remarks for whoever repairs or speeds up a submission; none of them is a reason for a verdict."""
