"""Write an honest answer to every problem of KernelBench's levels 1 to 3.

    python -m benchmarks.plain_answers PATH/TO/KernelBench/KernelBench TARGET

TARGET then has a folder for each level. Files are named as KernelBench names samples, level_1_problem_23_sample_0_kernel.py. Judge them:

    python pipeline.py --reference PATH/TO/KernelBench/KernelBench TARGET

They have no own kernels: a right one is `no_custom_kernel`. A wrong one is a mistake here, or the tolerance is too small.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.plain_answers.generate import AnswerError, answer

NUMBER = re.compile(r"(\d+)_.*")


def problems(root: Path, levels: tuple[int, ...] = (1, 2, 3)) -> Iterator[tuple[int, int, Path]]:
    """Level, number and file of each problem below `root`, in order."""
    for level in levels:
        found = [(int(match[1]), path) for path in (root / f"level{level}").glob("*.py") if (match := NUMBER.fullmatch(path.stem))]
        for number, path in sorted(found):
            yield level, number, path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_answers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", type=Path, help="the folder that holds level1, level2, ...")
    parser.add_argument("target", type=Path, help="where to write the answers")
    options = parser.parse_args()
    written = failed = 0
    for level, number, path in problems(options.root):
        try:
            text = answer(path.read_text(encoding="utf-8"))
        except (AnswerError, SyntaxError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed += 1
            continue
        folder = options.target / f"level{level}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"level_{level}_problem_{number}_sample_0_kernel.py").write_text(text, encoding="utf-8")
        written += 1
    print(f"{written} answers in {options.target}")
    return 1 if failed or not written else 0


if __name__ == "__main__":
    sys.exit(main())
