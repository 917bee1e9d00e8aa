"""Where evaluations run: judge processes on this machine, or on the machines of a Ray cluster."""
