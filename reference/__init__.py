"""The problems that come with the program, one file each."""
