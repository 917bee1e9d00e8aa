"""Tasks for Harbor, whose verifier asks a judging service outside of the agent's sandbox."""
