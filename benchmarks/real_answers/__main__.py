"""Write a submission for each of 68 problems of KernelBench's levels 1 to 3, in the form of model responses.

    python -m benchmarks.real_answers PATH/TO/KernelBench/KernelBench TARGET

Half of them are right: with an own kernel for all or a part of the work, five of them with a slow kernel. A third fails to
build; the others are wrong. TARGET/manifest.toml has the fair verdicts of each. Judge them:

    python -m benchmarks.real_work PATH/TO/KernelBench/KernelBench TARGET
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.plain_answers.__main__ import problems
from benchmarks.real_answers.defects import DEFECTS
from benchmarks.real_answers.generate import NothingToReplaceError, draft, submission

PLAN: dict[str, dict[int, tuple[int, ...]]] = {
    "right": {
        1: (9, 19, 20, 23, 25, 40, 42, 47, 51, 82, 88, 89),
        2: (1, 5, 12, 17, 29, 70, 71, 76, 86, 99),
        3: (1, 3, 4, 8, 9, 17, 18),
    },
    "slow": {1: (1, 3, 17, 24, 34)},
    "wrong constant": {1: (26, 28), 2: (53,), 3: (5,)},
    "capped grid": {1: (22,), 2: (46,)},
    "wrong epsilon": {1: (35,), 2: (30,)},
    "wrong divisor": {1: (44,)},
    "last left out": {1: (48,)},
    "tail left out": {1: (8,)},
    "wrong dimension": {1: (91,)},
    "launch check without its header": {1: (16, 21, 41, 52), 2: (7, 61), 3: (11, 19)},
    "stream without its header": {1: (27,), 2: (41,)},
    "undeclared name": {1: (10,), 3: (10,)},
    "syntax error": {1: (29,), 2: (4,)},
    "missing argument": {1: (53,), 2: (16,)},
    "const pointer": {1: (32,), 3: (50,)},
    "no declaration": {1: (46,)},
    "another declaration": {1: (7,), 2: (19,)},
    "two types of a minimum": {2: (26,)},
}
"""Numbers of problems by kind and level."""
ALSO_FAIR: dict[tuple[int, int], tuple[str, ...]] = {(3, 18): ("correct/degenerate_problem",)}
"""By level and number. With some random parameters SqueezeNet has the same output for any input."""


class CannotWriteError(Exception):
    """A problem has no submission of its kind; the text says why."""


def write(root: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Write the submission of each problem that is in the plan and in `root`; yields its file's name and its kind.

    The manifest comes last. Raises CannotWriteError.
    """
    kinds = {(level, number): kind for kind, levels in PLAN.items() for level, numbers in levels.items() for number in numbers}
    target.mkdir(parents=True, exist_ok=True)
    entries = []
    for level, number, path in problems(root):
        if (kind := kinds.get((level, number))) is None:
            continue
        name = f"level_{level}_problem_{number}_sample_0_kernel.py"
        try:
            text = text_of(path.read_text(encoding="utf-8"), level, number, kind)
        except (NothingToReplaceError, SyntaxError) as error:
            raise CannotWriteError(f"{path}: {error}") from error
        (target / name).write_text(text, encoding="utf-8")
        verdicts = [*DEFECTS[kind].verdicts, *ALSO_FAIR.get((level, number), ())]
        entries.append(f'[[submission]]\nfile = "{name}"\nkind = "{kind}"\nexpect = {verdicts}\n')
        yield name, kind
    (target / "manifest.toml").write_text("\n".join(entries), encoding="utf-8")


def text_of(source: str, level: int, number: int, kind: str) -> str:
    """The submission of a kind for a problem's source. Raises NothingToReplaceError."""
    right, model = draft(source, level, number, slow=kind == "slow")
    changed = DEFECTS[kind].change(right)
    if changed == right and kind not in ("right", "slow"):
        raise NothingToReplaceError(f"nothing in it can have this defect: {kind}")
    return submission(changed, model, level, number)


def main() -> int:
    """Returns exit code 1 if a problem of the plan is missing or has no submission."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_answers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", type=Path, help="the folder that holds level1, level2, level3")
    parser.add_argument("target", type=Path, help="where to write the submissions")
    options = parser.parse_args()
    try:
        kinds = Counter(kind for _, kind in write(options.root, options.target))
    except CannotWriteError as error:
        print(f"benchmarks.real_answers: {error}", file=sys.stderr)
        return 1
    for kind, count in kinds.items():
        print(f"{count:4}  {kind}")
    planned = sum(len(numbers) for levels in PLAN.values() for numbers in levels.values())
    print(f"{kinds.total():4}  submissions in {options.target}")
    if kinds.total() < planned:
        print(f"benchmarks.real_answers: {planned - kinds.total()} of the {planned} problems are not below {options.root}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
