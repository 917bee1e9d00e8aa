"""Has a model answer problems, sends it the judge's feedback, and lets it try again."""
