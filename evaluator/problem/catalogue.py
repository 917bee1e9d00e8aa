"""Lists the problems: the shipped ones, and those in given folders and files."""

from collections.abc import Iterable
from pathlib import Path

from evaluator.machine.cache_folder import default_root
from evaluator.problem.execute import ProblemError
from evaluator.problem.kernelbench import LEVEL, ROW_SUFFIXES, unpacked
from evaluator.problem.kernelbench_hard import converted, is_problem_folder

SHIPPED = Path(__file__).resolve().parents[2] / "reference"
"""The problems that come with the program."""


def discover(dirs: Iterable[Path] = ()) -> dict[str, Path]:
    """Problem names and their files, sorted by name: shipped ones, and those in `dirs`, which replace shipped ones of the same name.

    A name is a file's stem; files that begin with `_` or a dot are left out. A folder among `dirs` holds problem files, or folders of them
    named `level1`, `level2`, …, or both. It may hold KernelBench-Hard's folders of one problem, or be one
    (`evaluator.problem.kernelbench_hard`). `dirs` may also have files of KernelBench's rows (`evaluator.problem.kernelbench`). Raises
    ProblemError if a folder can't be listed or holds no problem, or if two of `dirs` have the same name.
    """
    given: dict[str, Path] = {}
    for folder in [level for each in dict.fromkeys(each.resolve() for each in dirs) for level in _folders(each)]:
        for name, path in _listed(folder).items():
            if name in given:
                raise ProblemError(path, None, f"a problem named {name!r} is in {given[name].parent} too; names are unique")
            given[name] = path
    return dict(sorted({**_listed(SHIPPED), **given}.items()))


def described(given: Path) -> str:
    """A description of one of the `dirs`: `100 problems in level1, 1 in KernelBench`. Raises ProblemError."""
    counts = [(len(_listed(folder)), folder.name) for folder in _folders(given.resolve())]
    words = [" problem" if counts[0][0] == 1 else " problems", *[""] * (len(counts) - 1)]
    return ", ".join(f"{count}{word} in {name}" for (count, name), word in zip(counts, words, strict=True))


def _folders(given: Path) -> list[Path]:
    """The folders of problem files in a given one: its levels, and itself if it has files of its own."""
    if given.is_file() and given.suffix.lower() in ROW_SUFFIXES:
        try:
            given = unpacked(given, default_root())
        except OSError as error:
            raise ProblemError(given, None, f"can't be unpacked: {error.strerror}") from error
    entries = _entries(given)
    levels = sorted((int(match[1]), path) for path in entries if path.is_dir() and (match := LEVEL.fullmatch(path.name)))
    own = [] if levels and not any(map(_is_problem, entries)) else [given]
    return [*(path for _, path in levels), *own]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise ProblemError(folder, None, f"can't be listed: {error.strerror}") from error


def _is_problem(path: Path) -> bool:
    return path.name[0] not in "._" and (path.suffix == ".py" or is_problem_folder(path))


def _listed(folder: Path) -> dict[str, Path]:
    entries = [folder] if is_problem_folder(folder) else [path for path in _entries(folder) if _is_problem(path)]
    if not entries:
        inner = next((path.parent for path in sorted(folder.glob("*/level*")) if LEVEL.fullmatch(path.name) and path.is_dir()), None)
        raise ProblemError(folder, None, "holds no problem (*.py)" + (f"; KernelBench's levels are in {inner}" if inner else ""))
    try:
        files = [converted(path, default_root()) if path.is_dir() else path for path in entries]
    except OSError as error:
        raise ProblemError(folder, None, f"can't be converted in {default_root()}: {error.strerror}") from error
    return {path.stem: path for path in files}
