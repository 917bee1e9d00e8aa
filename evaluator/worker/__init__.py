"""The untrusted side: runs inside the sandbox, in one process with the submission. The judge trusts nothing that it reports."""
