"""The levels of confinement, and what each is made of: namespaces, bubblewrap, Landlock, system call filters."""
