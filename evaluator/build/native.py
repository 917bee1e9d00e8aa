"""Compiles a C source of Assay's own, once per machine."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = ("-shared", "-fPIC", "-O2", "-Wall")
LIBRARIES = ("-ldl", "-lpthread")
TIMEOUT_S = 120.0
_INCLUDED = re.compile(rb'^#include "([\w.]+)"', re.MULTILINE)
"""A header of Assay's own, beside the source."""


class NativeBuildError(RuntimeError):
    """There is no C compiler, or it rejected the source; the message holds its output."""


def compile_native(source: Path, root: Path) -> Path:
    """The shared object made of `source`, below the cache folder `root`, under a hash of source, headers, flags and compiler.

    Every user can read it, since a confined process may run as another user. Raises NativeBuildError, and OSError if `source` can't be read
    or `root` can't be written.
    """
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if compiler is None:
        raise NativeBuildError("no C compiler")
    version = _run((compiler, "--version"))
    text = source.read_bytes()
    headers = (source.with_name(name.decode()).read_bytes() for name in _INCLUDED.findall(text))
    facts = (text, *headers, *(part.encode() for part in (compiler, version, *FLAGS, *LIBRARIES)))
    digest = hashlib.sha256(b"".join(len(fact).to_bytes(8, "big") + fact for fact in facts)).hexdigest()
    folder = root / "native" / digest
    target = folder / f"{source.stem}.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as workdir:
            made = Path(workdir) / target.name
            _run((compiler, *FLAGS, str(source), "-o", str(made), *LIBRARIES))
            made.chmod(0o755)
            made.rename(target)
    return target


def _run(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NativeBuildError(f"{command[0]} took longer than {TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise NativeBuildError(f"{' '.join(command)}\n{done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")
