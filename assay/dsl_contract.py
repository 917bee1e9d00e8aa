"""Checks a DSL's plug-in: `python -m assay.dsl_contract NAME RIGHT.py FAILING.py`.

First the contract alone, which needs neither the DSL nor a GPU. Then two submissions are judged: one that is right by a kernel in the DSL,
and one that its compiler refuses.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from command.from_python import Judge, JudgeError
from evaluator.dsl import CompilerOutput, Dsl, PluginError, Refused, dsls
from evaluator.results.nearest import unknown

if TYPE_CHECKING:
    from evaluator.results.result import Result

HOSTILE = (
    "",
    "\0",
    "at 1:1:\n",
    "\x1b[1m",
    'File "submission.py", line 999999999:',
    "k.cu(1): error: \ud800",
    "(" * 5000,
    "name '' " * 500,
)
"""Texts that a worker may send as an exception's."""
LOADED = "import sys; from evaluator.dsl import dsls; dsls(); sys.exit(' '.join(set({modules!r}) & set(sys.modules)) or 0)"


@dataclass(frozen=True)
class Told:
    """An exception as a worker tells it."""

    type: str
    message: str
    line: int | None


def broken(dsl: Dsl, others: tuple[Dsl, ...]) -> Iterator[str]:
    """What of the contract the plug-in breaks, in words; nothing is judged."""
    shared = {name for other in others if other is not dsl for name in (*other.caches, *other.settings)}
    yield from (f"{name} is another DSL's variable too" for name in sorted(shared & {*dsl.caches, *dsl.settings}))
    folders = {folder for other in others if other is not dsl for folder in other.caches.values()}
    yield from (f"{folder} is another DSL's folder too" for folder in sorted(folders & set(dsl.caches.values())))
    if not dsl.marks and not dsl.packages:
        yield "neither `marks` nor `packages` tells that a submission uses it"
    yield from dict.fromkeys(_over_texts(dsl))
    if dsl.packages:
        done = subprocess.run(
            [sys.executable, "-c", LOADED.format(modules=list(dsl.packages))], capture_output=True, text=True, check=False
        )
        if done.returncode:
            yield f"loading the plug-in imports the DSL itself, or fails: {done.stderr.strip()[-300:]}"
    if dsl.in_worker:
        module, _, function = dsl.in_worker.partition(":")
        try:
            found = callable(getattr(importlib.import_module(module), function, None))
        except ImportError as error:
            yield f"{dsl.in_worker} can't be imported: {error}"
        else:
            if not found:
                yield f"{dsl.in_worker} is no function"


def _over_texts(dsl: Dsl) -> Iterator[str]:
    """What its functions do with texts that no compiler wrote."""
    for text in HOSTILE:
        for kind in ("RuntimeError", "Exception", *_names(dsl)):
            raised = Told(kind, text, None)
            asked = (
                (dsl.compile_error, Refused | CompilerOutput | None),
                (dsl.launch_error, str | None),
                (dsl.lacks, str),
            )
            for function, form in asked:
                try:
                    said = function(raised)
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the plug-in's fault
                    yield f"{function.__name__} raises {type(error).__name__} over {kind}({text[:20]!r})"
                else:
                    if not isinstance(said, form):
                        yield f"{function.__name__} returns a {type(said).__name__} over {kind}({text[:20]!r})"


def _names(dsl: Dsl) -> Iterator[str]:
    """Exceptions that the plug-in's module knows by their names."""
    for value in vars(importlib.import_module(dsl.compile_error.__module__)).values():
        if isinstance(value, frozenset | set | tuple):
            yield from (name for name in value if isinstance(name, str) and name.isidentifier())


def unproved(result: "Result", *, right: bool) -> str:
    """What the result of the example shows wrong; empty where it is as it has to be."""
    found = f"{result.status}/{result.category}: {result.message}"
    if result.status == "not_evaluated":
        return f"could not be judged here: {found}"
    if right:
        return "" if result.category == "ok" else f"has to be correct/ok, and is {found}"
    lines = [item.source_line for build in result.evidence.builds for item in build.diagnostics if item.source_line]
    if result.status != "build_failed":
        return f"has to be build_failed, and is {found}"
    return "" if lines else f"names no line: {found}"


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 where the plug-in holds the contract, 1 where it does not, 2 for wrong usage."""
    this = argparse.ArgumentParser(prog="python -m assay.dsl_contract", description="Check a DSL's plug-in.")
    this.add_argument("name", metavar="NAME", help="of the DSL, as its entry point has it")
    this.add_argument("examples", nargs="*", metavar="FILE", help="a right submission and one that its compiler refuses")
    this.add_argument("--problem", help="that both answer (default: as their headers or folders say)")
    options = this.parse_args(arguments)
    try:
        found = {dsl.name: dsl for dsl in dsls()}
    except PluginError as error:
        this.error(str(error))
    if options.name not in found:
        this.error(unknown("DSL", options.name, found))
    if len(options.examples) not in (0, 2):
        this.error("give two submissions, or none: a right one, and one that the compiler refuses")
    faults = list(broken(found[options.name], tuple(found.values())))
    if options.examples:
        try:
            with Judge(problem=options.problem) as judge:
                for file, right in zip(options.examples, (True, False), strict=True):
                    if fault := unproved(judge(file), right=right):
                        faults.append(f"{file} {fault}")
        except JudgeError as error:
            this.error(str(error))
    for fault in faults:
        sys.stdout.write(f"{options.name}: {fault}\n")
    shown = "contract and examples" if options.examples else "contract; no example was judged"
    if not faults:
        sys.stdout.write(f"{options.name}: all is well ({shown})\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
