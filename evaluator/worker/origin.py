"""Where machine code comes from: the submission's own, or what is installed."""

import sys
from pathlib import Path

OWN_PREFIXES = ("/proc/self/fd/", "/memfd:", "/tmp/", "/dev/shm/")
"""Where a shared object of the submission's can have come from: what the builder made arrives as a descriptor, a memfd, and nothing but its
private directories is writable. Libraries of the system, of CUDA and of PyTorch are on read-only mounts, most of them elsewhere."""


def installed_folders() -> tuple[str, ...]:
    """Folders below OWN_PREFIXES that Python and its packages are installed in, each with a slash at its end.

    To be asked before a submission has been loaded, which could change the search path.
    """
    given = {Path(entry).resolve() for entry in (sys.prefix, sys.base_prefix, *sys.path) if entry}
    return tuple(sorted(f"{folder}/" for folder in given if f"{folder}/".startswith(OWN_PREFIXES) and f"{folder}/" not in OWN_PREFIXES))


def is_own(path: str, installed: tuple[str, ...]) -> bool:
    """Whether the shared object of this path is the submission's; `installed` are the `installed_folders`."""
    return path.startswith(OWN_PREFIXES) and not path.startswith(installed)
