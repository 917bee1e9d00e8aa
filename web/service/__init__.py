"""Judging over HTTP: submissions come in, wait in the database, are judged on this machine, and are asked after by their id."""
