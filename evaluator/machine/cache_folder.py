"""The folder of what is built once and used again."""

import os
import tempfile
from pathlib import Path


def default_root() -> Path:
    """$ASSAY_CACHE, else assay/ in the user's cache folder; an absolute path. A user without a home, as in a container that runs as a bare
    number, has it below the temporary folder. Raises PermissionError if another user made that."""
    if root := os.environ.get("ASSAY_CACHE"):
        return Path(root).absolute()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches).absolute() / "assay"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - pathlib's raises for a user without a home
    if home.is_absolute():
        return home / ".cache" / "assay"
    folder = Path(tempfile.gettempdir()) / f"assay-cache-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user: set ASSAY_CACHE")
    return folder
