"""The sandbox levels and their parts: namespaces, bubblewrap, Landlock, system call filters."""
