"""The untrusted side: runs inside the sandbox, in one process with the submission. Nothing that it says is believed."""
