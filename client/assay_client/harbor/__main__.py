"""Write a problem as a task for Harbor: `python -m assay_client.harbor PROBLEM... OUT`."""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from assay_client.tasks import Task, TaskError, read_tasks
from assay_client.terminal import EXIT_JUDGED, EXIT_USAGE, complain, say

PROGRAM = "python -m assay_client.harbor"
TEMPLATE = Path(__file__).parent / "task"
CLIENT = Path(__file__).parents[1]
CARRIED = ("__init__", "client", "errors", "flow", "flows", "models", "shaping", "tasks")
"""The client's modules that the verifier needs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Write problems as tasks for Harbor.")
    parser.add_argument("problems", nargs="+", type=Path, metavar="PROBLEM", help="a problem's file, or a folder of them")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder in which each problem gets a folder")
    options = parser.parse_args(arguments)
    try:
        for task in read_tasks(options.problems):
            say(str(write(task, options.out)))
    except (TaskError, OSError) as error:
        complain(PROGRAM, str(error))
        return EXIT_USAGE
    return EXIT_JUDGED


def write(task: Task, out: Path) -> Path:
    """Write a task's folder; returns it. Raises FileExistsError if it exists."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", task.name).strip("-_") or "problem"
    folder = out / name
    folder.mkdir(parents=True)
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    config = folder / "task.toml"
    config.write_text(Template(config.read_text(encoding="utf-8")).substitute(name=name), encoding="utf-8")
    (folder / "environment" / "problem.py").write_text(task.source, encoding="utf-8")
    (folder / "tests" / "problem.json").write_text(json.dumps({"name": task.name, "source": task.source}), encoding="utf-8")
    package = folder / "tests" / CLIENT.name
    package.mkdir()
    for module in CARRIED:
        shutil.copy(CLIENT / f"{module}.py", package)
    return folder


if __name__ == "__main__":
    sys.exit(main())
