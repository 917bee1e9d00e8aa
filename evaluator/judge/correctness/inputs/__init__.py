"""The inputs of the rounds: what they are like, how they are changed, and which of them decide."""
