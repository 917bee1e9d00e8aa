"""Checks a DSL's plug-in: `python -m assay.dsl_contract NAME RIGHT.py FAILING.py`.

First it checks the contract, which needs neither the DSL nor a GPU. Then it judges two submissions: one that is right by a kernel in the
DSL, and one that does not compile.
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
"""Exception messages that a hostile worker may send."""
LOADED = "import sys; from evaluator.dsl import dsls; dsls(); sys.exit(' '.join(set({modules!r}) & set(sys.modules)) or 0)"


@dataclass(frozen=True)
class Told:
    """An exception as a worker reports it."""

    type: str
    message: str
    line: int | None


def broken(dsl: Dsl, others: tuple[Dsl, ...]) -> Iterator[str]:
    """Messages about the parts of the contract that the plug-in breaks. Nothing is judged."""
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
    """Errors of its functions on texts that no compiler wrote."""
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
                except Exception as error:  # noqa: BLE001 - any exception is the plug-in's fault
                    yield f"{function.__name__} raises {type(error).__name__} over {kind}({text[:20]!r})"
                else:
                    if not isinstance(said, form):
                        yield f"{function.__name__} returns a {type(said).__name__} over {kind}({text[:20]!r})"


def _names(dsl: Dsl) -> Iterator[str]:
    """Names of exceptions in the plug-in's module."""
    for value in vars(importlib.import_module(dsl.compile_error.__module__)).values():
        if isinstance(value, frozenset | set | tuple):
            yield from (name for name in value if isinstance(name, str) and name.isidentifier())


def unproved(result: "Result", *, right: bool) -> str:
    """The error in the example's result; empty if it is as expected."""
    found = f"{result.status}/{result.category}: {result.message}"
    if result.status == "not_evaluated":
        return f"could not be judged here: {found}"
    if right:
        return "" if result.category == "ok" else f"has to be correct/ok, but is {found}"
    lines = [item.source_line for build in result.evidence.builds for item in build.diagnostics if item.source_line]
    if result.status != "build_failed":
        return f"has to be build_failed, but is {found}"
    return "" if lines else f"names no line: {found}"


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if the plug-in keeps the contract, 1 if not, 2 for wrong usage."""
    this = argparse.ArgumentParser(prog="python -m assay.dsl_contract", description="Check a DSL's plug-in.")
    this.add_argument("name", metavar="NAME", help="the DSL's name in its entry point")
    this.add_argument("examples", nargs="*", metavar="FILE", help="a right submission, and one that does not compile")
    this.add_argument("--problem", help="problem of both (default: from their headers or folders)")
    options = this.parse_args(arguments)
    try:
        found = {dsl.name: dsl for dsl in dsls()}
    except PluginError as error:
        this.error(str(error))
    if options.name not in found:
        this.error(unknown("DSL", options.name, found))
    if len(options.examples) not in (0, 2):
        this.error("give two submissions, or none: a right one, and one that does not compile")
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
        sys.stdout.write(f"{options.name}: no errors ({shown})\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
