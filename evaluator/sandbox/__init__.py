"""Confines untrusted code: the sandbox's fork server forks programs into a sandbox, and a judge holds each by a handle.

    with Zygote.start(("evaluator.worker.server",), best_level()) as zygote:
        confined = zygote.start_program(Program(entry="evaluator.worker.server:main"), {"channel": fd})
        ended = confined.wait(30.0)

`python -m evaluator.sandbox check` lists the sandbox levels that work here.
"""

from evaluator.sandbox.client import Zygote
from evaluator.sandbox.confined import Confined
from evaluator.sandbox.level_choice import best_level, probe
from evaluator.sandbox.limits import Limits
from evaluator.sandbox.program import Exit, Level, Program, SandboxUnavailable

__all__ = ["Confined", "Exit", "Level", "Limits", "Program", "SandboxUnavailable", "Zygote", "best_level", "probe"]
