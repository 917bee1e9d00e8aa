"""nvcc's passes in parallel; nvcc itself runs them one after another.

nvcc lists its commands (`--dryrun`). The host's half (preprocessor, cudafe++) and the device's (preprocessor, cicc, ptxas) share only the
file's module id, which cudafe++ would write and cicc read. Here the id is written beforehand. Each pass is an edge of the build graph.
"""

import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.processes.graph import Edge, exports

_VARIABLE = re.compile(r"(?P<name>PATH|LD_LIBRARY_PATH|CICC_PATH|NVVMIR_LIBRARY_DIR)=(?P<value>.*)")
_INTERNAL = re.compile(r"[A-Z_]+=")
_MODULE_ID = re.compile(r'--gen_module_id_file --module_id_file_name ("[^"$`\\]+") ')
_IN_SEPARATE_PARTS = re.compile(r"(?:^|[\s=])(?:-rdc|--relocatable-device-code|-dc|--device-c|-dlto|--dlink)")
_PROGRAM = r'^(?:[^\s"]+|"[^"$`\\\s]+"[^\s"]*) '
"""The host compiler. If nvcc is told which one to use, it quotes the folder."""
_KINDS = (
    ("host preprocessor", re.compile(rf"{_PROGRAM}(?!.*-D__CUDA_ARCH__=).*-E -x c\+\+ ")),
    ("device preprocessor", re.compile(rf"{_PROGRAM}.*-D__CUDA_ARCH__=\d.* -E -x c\+\+ ")),
    ("cudafe++", re.compile(r"^cudafe\+\+ ")),
    ("cicc", re.compile(r'^"\$CICC_PATH/cicc" ')),
    ("ptxas", re.compile(r"^ptxas ")),
    ("fatbinary", re.compile(r"^fatbinary ")),
    ("rm", re.compile(r"^rm ")),
    ("host compiler", re.compile(rf"{_PROGRAM}.*-c -x c\+\+ ")),
)
_HOST = ("host preprocessor", "cudafe++")
_DEVICE = ("device preprocessor", "cicc", "ptxas")
_JOIN = ("fatbinary", "host compiler")


@dataclass(frozen=True)
class Passes:
    """The commands that nvcc would run, as shell commands in its order."""

    variables: tuple[tuple[str, str], ...]
    """Environment of all passes."""
    module_id_file: str
    """Quoted for a shell."""
    host: tuple[str, ...]
    device: tuple[str, ...]
    """All architectures, one after another, because they write some files of the same name."""
    join: tuple[str, ...]


def read_dryrun(output: str, argv: Sequence[str]) -> Passes | None:
    """The passes that `nvcc --dryrun` listed for `argv`. None if the list holds anything unknown."""
    if _IN_SEPARATE_PARTS.search(" ".join(argv)):
        return None
    variables: list[tuple[str, str]] = []
    steps: list[tuple[str, str]] = []
    for line in output.splitlines():
        text = line.removeprefix("#$ ")
        if text == line:
            return None
        if variable := _VARIABLE.match(text):
            variables.append((variable["name"], variable["value"].strip()))
        elif not _INTERNAL.match(text):
            kind = next((name for name, pattern in _KINDS if pattern.match(text)), None)
            if kind is None:
                return None
            steps.append((kind, text.strip()))
    return _arranged(variables, steps)


def _arranged(variables: list[tuple[str, str]], steps: list[tuple[str, str]]) -> Passes | None:
    kinds = [kind for kind, _ in steps]
    host, device, join = ([text for kind, text in steps if kind in group] for group in (_HOST, _DEVICE, _JOIN))
    in_order = [kind for kind in kinds if kind in _HOST] == list(_HOST) and kinds[-1:] == ["host compiler"]
    whole = in_order and kinds.count("host compiler") == 1 and kinds.count("fatbinary") == 1 and "cicc" in kinds
    named = _MODULE_ID.search(host[1]) if whole else None
    if named is None or not all(named[1] in text for kind, text in steps if kind == "cicc"):
        return None
    cudafe = host[1].replace(named[0], f"--module_id_file_name {named[1]} ")
    return Passes(tuple(variables), named[1], (host[0], cudafe), tuple(device), tuple(join))


def edges(passes: Passes, key: str, name: str, job: str, scratch: Path) -> tuple[Edge, ...]:
    """The edges of a graph that runs `passes`, in nvcc's order of reporting: the host's failure decides before the device's.

    `key` and the source's `name` form the module id, which keeps the file's internal symbols apart. `job` begins the edges' names;
    `scratch` is the folder that `passes` were listed for.
    """
    digest = hashlib.sha256(f"{key}/{name}".encode()).hexdigest()
    plain_name = re.sub(r"\W", "_", name)
    module_id = f"_{digest[:8]}_{len(plain_name)}_{plain_name}_{digest[8:16]}"
    variables = exports({"TMPDIR": str(scratch), **dict(passes.variables)})
    first = Edge(f"{job}.id", f"{variables}printf %s {module_id} > {passes.module_id_file}")

    def lane(steps: Iterable[str], part: str, after: tuple[str, ...], *, beside: bool = False) -> list[Edge]:
        made: list[Edge] = []
        for number, step in enumerate(steps):
            # As nvcc wrote it. In its own shell, so that a quote which a flag leaves open ends only this edge.
            command = f"{variables}eval {shlex.quote(f'exec {step}')}"
            made.append(Edge(f"{job}.{part}-{number}", command, (made[-1].name,) if made else after, beside))
        return made

    host = lane(passes.host, "host", (first.name,))
    device = lane(passes.device, "device", (first.name,), beside=True)
    join = lane(passes.join, "join", tuple(half[-1].name for half in (host, device) if half))
    return (first, *host, *device, *join)
