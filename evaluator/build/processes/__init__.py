"""The processes of a build: how they run, in which folders, how many at once, and in which order."""
