"""Judge generated GPU kernels: `python pipeline.py PATH...`, or `from pipeline import judge`.

`judge` returns results, and `Judge` keeps judge processes for many calls. `python pipeline.py` is `assay judge`.
"""

import sys

from command.from_python import Judge, JudgeError, feedback, frame, judge

__all__ = ["Judge", "JudgeError", "feedback", "frame", "judge", "main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from assay.commands import check_file
    from command.judge import main

    return main(arguments, check_file=check_file)


if __name__ == "__main__":
    sys.exit(main())
