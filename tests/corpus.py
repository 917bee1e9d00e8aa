"""Reads the corpora of submissions, and compares the run's verdicts with the files' expected ones.

A file of a corpus is a submission with a header of `# key: value` lines:

    # wants, fault or form: what an attack tries to gain, what is wrong, or what is unusual
    # problem: the problem that it answers
    # expect: status/category | ...          the verdicts that are fair
    # expect: cpu status/category | ...      those on one kind of device: cpu or cuda; it is judged where it has a verdict
    # base: NAME                             bases/NAME.py completes a file without a ModelNew (see `compose`); else bases/module.py does
    # speedup: X                             where it is correct, its speedup is at most X
    # legal: yes                             looks like an attack, and is allowed
    # twin: NAME                             the honest form that does the same work: where it is correct, it is not faster than that
    # says: words                            the message, the hint or the feedback holds them; repeatable
    # needs: nvcc                            its verdict on a CPU needs this program
    # marker: PATH, or process:NAME          must not be there after the run; {root}, {home}, {prefix}, {python} are filled in; repeatable
    # tool, finds, kernel                    what compute-sanitizer has to find, and with which tool

The verdict has to name the line that ends with HERE. In a file without one, any line is right.

    python -m tests.corpus FOLDER DEVICE TARGET     write the complete submissions for this kind of device (cpu or cuda) into TARGET
"""

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
BASES = Path(__file__).parent / "bases"
SUMMARIES = ("wants", "fault", "form")
KEYS = {
    *SUMMARIES,
    "author",
    "base",
    "device",
    "expect",
    "finds",
    "kernel",
    "legal",
    "marker",
    "needs",
    "problem",
    "says",
    "speedup",
    "tool",
    "twin",
}
RUN_WITHIN_S = 3600

_FIELD = re.compile(r"# ([a-z]+): (.+)")

Header = dict[str, tuple[str, ...]]
"""Values by key, in the order of the file."""
Record = dict[str, Any]
"""A run's record of a submission."""


@dataclass(frozen=True)
class Entry:
    """One submission of a corpus."""

    name: str
    """Its file's name, with suffix."""
    data: bytes
    """The complete submission."""
    header: Header = field(default_factory=dict)

    @property
    def about(self) -> str:
        return next(self.header[key][0] for key in SUMMARIES if key in self.header)

    @property
    def verdicts(self) -> dict[str, frozenset[str]]:
        """Fair verdicts, `status/category`, by kind of device."""
        return expectations(self.header)

    @property
    def lines(self) -> tuple[int, ...]:
        """Numbers of the lines that end with HERE."""
        text = self.data.decode(errors="replace")
        return tuple(number for number, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("HERE"))

    @property
    def markers(self) -> tuple[str, ...]:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        places = {"root": PROJECT, "home": Path.home(), "prefix": sys.prefix, "python": python}
        return tuple(marker.format(**places) for marker in self.header.get("marker", ()))

    def value(self, key: str) -> str | None:
        """The only value of a key."""
        return self.header[key][0] if key in self.header else None


def split(text: str) -> tuple[Header, str]:
    """The header at the top of a file, and the rest."""
    fields: dict[str, list[str]] = {}
    lines = text.splitlines(keepends=True)
    count = 0
    while count < len(lines) and (match := _FIELD.fullmatch(lines[count].rstrip("\n"))):
        fields.setdefault(match[1], []).append(match[2])
        count += 1
    return {key: tuple(values) for key, values in fields.items()}, "".join(lines[count:])


def expectations(header: Header) -> dict[str, frozenset[str]]:
    """The verdicts of the `expect` lines, by kind of device."""
    found = {}
    for line in header.get("expect", ()):
        device, verdicts = match.groups() if (match := re.fullmatch("(cpu|cuda) (.+)", line)) else (None, line)
        for kind in (device,) if device else ("cpu", "cuda"):
            found[kind] = frozenset(verdict.strip() for verdict in verdicts.split("|"))
    return found


def read(path: Path) -> Entry:
    """The submission in a file. Raises ValueError if the header lacks a key, or has an unknown one."""
    text = path.read_text(encoding="utf-8")
    header, code = split(text)
    if "problem" not in header or len(set(SUMMARIES) & header.keys()) != 1:
        raise ValueError(f"{path.name}: the header needs a problem and one of {', '.join(SUMMARIES)}")
    if unknown := header.keys() - KEYS:
        raise ValueError(f"{path.name}: the header has no {', '.join(sorted(unknown))}; known: {', '.join(sorted(KEYS))}")
    if "class ModelNew" not in code:
        base = header.get("base", ("module",))[0]
        text = text.removesuffix(code).replace(f"# base: {base}\n", "") + compose((BASES / f"{base}.py").read_text(encoding="utf-8"), code)
    return Entry(path.name, text.encode(), header)


def corpus(folder: Path) -> dict[str, Entry]:
    """Every submission of a folder, by the name of its file without suffix."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.py"))}


def compose(base: str, code: str) -> str:
    """A complete submission: the base and the additions of a corpus file.

    A definition takes the place of the base's definition of the same name. A function whose first parameter is `self` is a method of
    ModelNew. Imports come first, and all else right before ModelNew.
    """
    imports: list[str] = []
    others: list[str] = []
    own: dict[str, str] = {}
    methods: dict[str, str] = {}
    names = {_name(node) for node, _ in _statements(base)}
    for node, text in _statements(code):
        name = _name(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(text)
        elif isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "self":
            methods[node.name] = text
        elif name in names and name is not None:
            own[name] = text
        else:
            others.append(text)
    rest: list[str] = []
    for node, text in _statements(base):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(text)
        elif isinstance(node, ast.ClassDef) and node.name == "ModelNew":
            rest += [*others, _with_methods(text, methods)]
        else:
            rest.append(own.get(_name(node) or "", text))
    return "\n".join(imports) + "\n\n" + "\n\n".join(rest) + "\n"


def _statements(code: str) -> list[tuple[ast.stmt, str]]:
    """Every statement at the top, with its text and what stands before it: comments and decorators."""
    lines = code.splitlines(keepends=True)
    found, start = [], 0
    for node in ast.parse(code).body:
        end = node.end_lineno or node.lineno
        found.append((node, "".join(lines[start:end]).strip("\n")))
        start = end
    return found


def _name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _with_methods(model: str, methods: dict[str, str]) -> str:
    """The class with these methods, in place of those of the same name and else at its end."""
    head, *rest = re.split(r"(?m)^(?=    def )", model.removesuffix("    pass"))
    kept = [text.strip("\n") for text in rest if text.split("(")[0].split()[1] not in methods]
    return head + "\n\n".join([*kept, *(textwrap.indent(text, "    ") for text in methods.values())])


def write(entries: Iterable[Entry], folder: Path) -> None:
    """The complete submissions as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        (folder / entry.name).write_bytes(entry.data)


def judge(entries: Iterable[Entry], folder: Path, *options: str, **environment: str) -> dict[str, Record]:
    """Judge these in one run; exactly one record for each, by the name of its file."""
    entries = list(entries)
    for path in (marker for entry in entries for marker in entry.markers if not marker.startswith("process:")):
        Path(path).unlink(missing_ok=True)
    write(entries, folder / "corpus")
    command = [sys.executable, str(PROJECT / "pipeline.py"), "corpus", "--db", "sqlite:///corpus.db", "--json", "results.jsonl", *options]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False, env=variables)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {record["submission"].split("/")[-1].removesuffix(":1"): record for record in records}
    assert sorted(found) == sorted(entry.name for entry in entries) and len(records) == len(found)
    return found


def is_expected(entry: Entry, record: Record, kind: str) -> bool:
    """Whether the record's verdict, and the speedup of a correct one, are as the header expects for this kind of device."""
    if f"{record['status']}/{record['category']}" not in entry.verdicts[kind]:
        return False
    return "speedup" not in entry.header or record["status"] != "correct" or record["speedup"] <= float(entry.header["speedup"][0])


def check(entry: Entry, record: Record, kind: str) -> None:
    """Assert that the record meets the header's expectations for this kind of device."""
    verdict = f"{record['status']}/{record['category']}"
    said = f"{entry.about}; {verdict}: {record['message']}\n{record['feedback']}"
    assert is_expected(entry, record, kind), said
    for words in entry.header.get("says", ()):
        assert any(words in record[part] for part in ("message", "hint", "feedback")), f"{words!r} is not in {said}"
    assert [marker for marker in entry.markers if is_there(marker)] == []


def is_there(marker: str) -> bool:
    """Whether the file, or a process of the name, exists on this machine."""
    kind, _, name = marker.partition(":")
    return name in _process_names() if kind == "process" else os.path.lexists(marker)


def _process_names() -> set[str]:
    names = set()
    for place in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(place.read_text(encoding="utf-8", errors="replace").strip())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return names


if __name__ == "__main__":
    _folder, _device, _target = sys.argv[1:]
    write((entry for entry in corpus(Path(_folder)).values() if _device in entry.verdicts), Path(_target))
