"""Have a model answer problems, tell it what the judge says, and let it try again."""
