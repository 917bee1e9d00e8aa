"""A service in this process, on a real socket: its HTTP calls, its queue and its reading are real, its verdicts are made up."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from db.queue.requests import Requests
from db.store import Store
from evaluator.job import Job, result_of
from evaluator.machine.devices import cpu
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, ProfileEvidence
from evaluator.results.result import Result
from tests.command_line import PROBLEM
from tests.db.samples import environment, sha256
from tests.web.serving import served
from web.service.http.app import create_app
from web.service.http.state import Bounds, Service
from web.service.judging.runner import Runner
from web.service.metrics import Metrics
from web.service.problems import ServedProblems
from web.service.progress import Progress
from web.service.tokens import Scope, make

VERDICTS = {
    "ValueError": Category.PYTHON_EXCEPTION,
    "= factor *": Category.UNDECLARED_IDENTIFIER,
    "load_inline": Category.OK,
    "return x + x": Category.NO_CUSTOM_KERNEL,
}
"""By a part of the submission; any other submission has wrong values."""
NO_PROFILE = "nothing was profiled: it needs an NVIDIA GPU, and this was judged on the CPU"


class MadeUpEngine:
    """Takes the place of a LocalEngine. A submission that sleeps is held until `go` is set."""

    sandbox_level = "none"

    def __init__(self, go: threading.Event) -> None:
        self._go = go

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Nothing has to start."""

    def close(self) -> None:
        """Hold nothing any longer."""
        self._go.set()

    def run_together(self, jobs: Iterator[Job], at_stage: Callable[[Job, str], None]) -> Iterator[Any]:
        for job in jobs:
            at_stage(job, "rounds")
            if "sleep" in job.code:
                self._go.wait()
            found = [(job, verdict(job))]
            yield SimpleNamespace(take=lambda found=found: found)


def verdict(job: Job) -> Result:
    category = next((category for part, category in VERDICTS.items() if part in job.code), Category.WRONG_VALUES)
    right = category.status is Status.CORRECT
    observed: dict[str, Any] = {"runtime_ms": 2.0, "baseline_ms": 4.0, "speedup": 2.0} if right and job.is_timed else {}
    if category is Category.OK and not job.is_timed:
        category = Category.UNTIMED
    if right and job.profile:
        observed["evidence"] = Evidence(profile=ProfileEvidence(remark=NO_PROFILE))
    observed |= {"environment": environment("CPU", device_kind="cpu"), "device": "cpu", "precision": job.precision or "own"}
    problem_sha256 = sha256(job.problem_path.read_text(encoding="utf-8"))
    return result_of(job, category, "made up: factor", problem_sha256=problem_sha256, **observed)


class InProcess:
    """Serves the problems double (2x) and increment (x + 1) to the author ada. A context manager."""

    def __init__(self, root: Path) -> None:
        self.root, self.db = root, f"sqlite:///{root / 'service.db'}"
        self.go = threading.Event()
        self.go.set()
        (root / "problems").mkdir()
        for name, operation in (("double", "* 2"), ("increment", "+ 1")):
            (root / "problems" / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.store = opened.enter_context(Store.open(self.db))
            known = {path.stem: path for path in (self.root / "problems").glob("*.py")}
            problems, progress = ServedProblems(known, self.root / "references", cpu()), Progress()
            opened.callback(problems.close)
            problems.load_all()
            service = Service(self.store, problems, progress, Metrics(Requests(self.store)), None, Bounds())
            engine: Any = lambda: MadeUpEngine(self.go)  # noqa: E731 - a stand-in of another type
            service.runner = Runner(self.store, engine, problems, progress, service.metrics, "in this process", 30.0)
            service.runner.start()
            opened.callback(service.runner.close, 0.0)
            self.token = self.make_token("ada", Scope.READ, Scope.SUBMIT, Scope.REFERENCE)
            self.address = opened.enter_context(served(create_app(service)))
            self._opened = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.go.set()
        self._opened.close()

    def make_token(self, author: str, *scopes: Scope) -> str:
        return make(self.store, author, scopes)
