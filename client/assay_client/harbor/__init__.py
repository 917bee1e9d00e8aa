"""Tasks for Harbor. Their verifier calls a judging service outside of the agent's sandbox."""
