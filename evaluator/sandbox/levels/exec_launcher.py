"""The launcher inside bubblewrap: forks the program, confines it further, and reports to the supervisor how it ended."""

import json
import os
import sys
from typing import NoReturn

from evaluator.sandbox import linux
from evaluator.sandbox.levels import child
from evaluator.sandbox.program import Level, Program


def main(report: int, plan_file: int) -> NoReturn:
    """Run the plan in `plan_file`; its status goes to `report`. Does not return."""
    with child.reporting(report):
        with os.fdopen(plan_file, encoding="utf-8") as file:
            data = json.load(file)
        sys.path += [path for path in data.pop("path") if path not in sys.path]
        program = Program.from_json(data.pop("program"))
        plan = child.ChildPlan(
            program, Level(data.pop("level")), tuple(data.pop("names")), **{**data, "groups": tuple(data["groups"]), "rules": ()}
        )
        given = list(range(child.FIRST_DESCRIPTOR, child.FIRST_DESCRIPTOR + len(plan.names)))
        linux.prctl(linux.PR_SET_DUMPABLE, 0)  # the program may run as the same user, and must not find `report` in /proc
        worker = os.fork()
        if worker:
            child.relay(worker, report)
        (kept,) = child.arrange(1, 2, given, [report])
        _run(plan, kept)


def _run(plan: child.ChildPlan, report: int) -> NoReturn:
    with child.reporting(report):
        child.confine(plan, [])
        os.environ.pop("LD_PRELOAD", None)
        child.run(plan, report)
