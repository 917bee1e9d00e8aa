"""Judge generated GPU kernels: `python pipeline.py PATH...`.

Reads submissions, judges each in a sandbox, stores every result, and prints a summary. Nothing heavy is imported before it is needed.
"""

import argparse
import contextlib
import itertools
import json
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.store import Store
    from evaluator.devices import Device
    from evaluator.judge.bench import Job
    from evaluator.problem import Problem
    from evaluator.result import Result
    from evaluator.submission import Submission

EXIT_ALL_EVALUATED, EXIT_SOME_NOT_EVALUATED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
READ_AHEAD = 1000
"""Submissions read before the first is judged, so that the progress bar knows its end; longer lists have none."""
BYTES_PER_JUDGE = 4 << 30
"""Memory that one judge with its compilers may need: a stock nvcc pass takes 3 GiB."""
MAX_TIMEOUT_S = 86400.0
MAX_GPU_JUDGES = 8
"""Judges beside one GPU; each holds a CUDA context."""


class UsageError(Exception):
    """What was asked for can't be done; the message is for the person who asked."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    from db.error import StoreError
    from evaluator.build.native import NativeBuildError
    from evaluator.devices import DeviceError
    from evaluator.problem import ProblemError
    from evaluator.sandbox import SandboxUnavailable
    from evaluator.submission import InputError

    # Names of files and messages of submissions may hold what the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return run(options)
    except BrokenPipeError:
        # Whoever read the output has seen enough (`| head`); nothing may be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_SOME_NOT_EVALUATED
    except (UsageError, InputError, ProblemError, StoreError, DeviceError, SandboxUnavailable, NativeBuildError) as error:
        print(f"pipeline.py: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_USAGE


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    this = argparse.ArgumentParser(
        prog="pipeline.py",
        description="Judge generated GPU kernels: compile, run in a sandbox, compare with the reference, time, and store every verdict.",
        epilog="Exit code: 0 all were evaluated, 1 some could not be, 2 bad usage, 130 interrupted.",
    )
    add = this.add_argument
    add(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="submissions (.py), model responses (.txt, .md), bundles (.jsonl), or folders of them",
    )
    add("--problem", metavar="NAME", help="every submission answers this problem")
    add("--reference", action="append", default=[], type=Path, metavar="DIR", help="a folder with more problem files (repeatable)")
    add("--every-block", action="store_true", help="judge each ModelNew block of a response, not just its final answer")
    add("--device", default="auto", metavar="DEVICE", help="auto (CUDA where there is one), cuda, cuda:N or cpu")
    add("--case", metavar="NAME", help="which set of shapes; by default full on a GPU, small on a CPU")
    add("--db", default="sqlite:///assay.db", metavar="URL", help="SQLAlchemy URL of the database (default: %(default)s)")
    add("--json", metavar="FILE", help="write one JSON object per evaluation as results come; - for standard output")
    add("--jobs", type=_positive, metavar="N", help="judges side by side (default: by processors and memory)")
    add("--timeout", type=float, default=60.0, metavar="S", help="seconds that one call of forward() may take (default: %(default)g)")
    add("--rerun", action="store_true", help="judge again what is already judged")
    add("--author", metavar="NAME", help="author of every submission")
    add("--engine", choices=("local", "ray"), default="local", help="where evaluations run (default: %(default)s)")
    sandbox = this.add_mutually_exclusive_group()
    sandbox.add_argument(
        "--sandbox", choices=("namespaces", "bubblewrap", "landlock"), help="level of confinement (default: the best there is)"
    )
    sandbox.add_argument("--no-sandbox", action="store_true", help="run submissions without confinement: only for code that you trust")
    return this


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def run(options: argparse.Namespace) -> int:
    """Judge what the options name. Raises UsageError and the errors of what it uses."""
    from db.store import Store
    from evaluator.devices import choose
    from evaluator.problem import discover
    from evaluator.submission import find

    if options.engine == "ray":
        raise UsageError("--engine ray is not part of this version; leave it out to judge on this machine")
    if not 0 < options.timeout <= MAX_TIMEOUT_S:
        raise UsageError(f"--timeout is a number of seconds above 0 and at most {MAX_TIMEOUT_S:g}")
    known = discover(options.reference)
    if options.problem and options.problem not in known:
        raise UsageError(f"there is no problem {options.problem!r}; there is {', '.join(known)}")
    submissions = find(options.paths, options.every_block, options.problem, options.author, known)
    device, stands_in = choose(options.device)
    with Store.open(options.db) as store, _json_file(options.json) as json_file:
        store.start_run(sys.argv)
        session = Session(options, store, json_file, device, stands_in, Problems(known))
        return session.judge(submissions)


@dataclass
class Problems:
    """Problems by name, each loaded when it is first asked for."""

    paths: dict[str, Path]
    _loaded: dict[str, "Problem"] = field(default_factory=dict)

    def get(self, name: str) -> "Problem":
        """Raises ProblemError."""
        from evaluator.problem import load

        if name not in self._loaded:
            self._loaded[name] = load(self.paths[name])
        return self._loaded[name]


@dataclass
class Session:
    """One run of the command line."""

    options: argparse.Namespace
    store: "Store"
    json_file: IO[str] | None
    device: "Device"
    stands_in: bool
    problems: Problems
    skipped: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from evaluator.display import Display

        self.display = Display(to_stderr=self.options.json == "-")
        self._sources: dict[tuple[str, int | None], str] = {}

    def judge(self, submissions: Iterator["Submission"]) -> int:
        """Judge all that is not judged yet; returns the exit code."""
        if self.store.recovered:
            self.display.say(f"{self.store.recovered} results that an earlier run could not store have been imported.")
        if self.stands_in:
            self.display.say("No GPU here: C++ submissions are judged on the CPU, CUDA ones are compiled where there is an nvcc.")
        head = list(itertools.islice(submissions, READ_AHEAD))
        total = len(head) if len(head) < READ_AHEAD else None
        # Loading a problem raises what is wrong with it before anything has been judged.
        for name in dict.fromkeys(submission.problem for submission in head if submission.problem):
            self.problems.get(name).instance(self._case(name))
        jobs = self._jobs(itertools.chain(head, submissions))
        interrupted = False
        with self.display.progress(total):
            first = next(jobs, None)
            if first is not None:
                interrupted = self._run_engine(itertools.chain([first], jobs))
        self.display.summary(self.skipped, self.store.name)
        if interrupted:
            return EXIT_INTERRUPTED
        return EXIT_SOME_NOT_EVALUATED if self.counts["not_evaluated"] else EXIT_ALL_EVALUATED

    def _run_engine(self, jobs: Iterator["Job"]) -> bool:
        """Judge the jobs; whether it was interrupted."""
        from evaluator.category import Category
        from evaluator.engine.local import LocalEngine, unjudged

        self.display.say("Starting the judges …")
        with LocalEngine(self._engine_options()) as engine, _terminable():
            try:
                engine.start()
                self.display.say(f"{self.device.spec} ({self.device.name}), sandbox: {engine.sandbox_level}")
                for job, result in engine.run(jobs, self.display.stage):
                    self._keep(result, job.code)
            except KeyboardInterrupt:
                engine.close()
                for job in engine.in_flight:
                    self._keep(unjudged(job, Category.INTERRUPTED, "interrupted before it had a verdict", self.device.spec), job.code)
                return True
        return False

    def _jobs(self, submissions: Iterator["Submission"]) -> Iterator["Job"]:
        """What has to be judged; what is rejected or judged already is dealt with on the way."""
        from db.rows import EvaluationKey
        from evaluator.judge.bench import Job

        judged = frozenset() if self.options.rerun else self.store.judged_keys()
        for submission in submissions:
            name = submission.problem
            problem = self.problems.get(name) if name and not submission.rejection else None
            key = EvaluationKey(
                submission=submission.name,
                block=submission.block,
                source_sha256=submission.source_sha256,
                problem_sha256=problem.sha256 if problem else None,
                case=self._case(name) if problem and name else None,
                device_name=self.device.name if problem else "",
            )
            if key in judged:
                self.skipped += 1
                self.display.skip()
            elif problem is None or name is None:
                self._keep(_rejected(submission), submission.code)
            else:
                yield Job(
                    submission=submission.name,
                    block=submission.block,
                    author=submission.author,
                    sample_id=submission.sample_id,
                    code=submission.code,
                    source_sha256=submission.source_sha256,
                    problem=name,
                    problem_path=problem.path,
                    case=key.case,
                    note=submission.note,
                    timeout_s=self.options.timeout,
                )

    def _case(self, problem: str) -> str:
        case: str | None = self.options.case
        return case or self.problems.get(problem).default_case(self.device.kind)

    def _keep(self, result: "Result", source: str) -> None:
        """Store a result, then tell of it."""
        from db.rows import storable_result

        result = storable_result(result)
        problem = self.problems.get(result.problem) if result.problem else None
        number = self.store.save(result, source, problem.source if problem else None)
        self.counts[result.status] += 1
        if self.json_file:
            self._tell(self.json_file, {"id": number, **result.summary()})
        self.display.result(number, result)

    def _tell(self, file: IO[str], record: dict[str, Any]) -> None:
        try:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise UsageError(f"--json {self.options.json}: {error.strerror}; the results so far are in the database") from error

    def _engine_options(self) -> Any:
        from evaluator.build.cache import default_root
        from evaluator.engine.options import EngineOptions
        from evaluator.sandbox import Level

        level = Level.NONE if self.options.no_sandbox else self.options.sandbox and Level(self.options.sandbox)
        return EngineOptions(
            device=self.device,
            stands_in=self.stands_in,
            judges=self.options.jobs or _default_judges(self.device),
            cache_root=default_root(),
            level=level,
        )


def _default_judges(device: "Device") -> int:
    from evaluator.devices import cpu_count

    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    judges = max(1, min(cpu_count(), memory_bytes // BYTES_PER_JUDGE))
    return min(judges, MAX_GPU_JUDGES) if device.kind == "cuda" else judges


def _rejected(submission: "Submission") -> "Result":
    from evaluator.category import CATEGORIES
    from evaluator.result import Result, now

    rejection = submission.rejection
    assert rejection is not None
    return Result(
        submission=submission.name,
        block=submission.block,
        author=submission.author,
        sample_id=submission.sample_id,
        problem=submission.problem,
        status=rejection.category.status,
        category=rejection.category,
        message=rejection.message,
        hint=CATEGORIES[rejection.category].hint,
        source_sha256=submission.source_sha256,
        started_at=now(),
        duration_s=0.0,
    )


class _json_file:  # noqa: N801
    """The file that --json names, or None; raises UsageError where it can't be written."""

    def __init__(self, name: str | None) -> None:
        self._name = name

    def __enter__(self) -> IO[str] | None:
        self._file: IO[str] | None = None
        if self._name == "-":
            return sys.stdout
        if self._name:
            try:
                self._file = Path(self._name).open("w", encoding="utf-8")
            except OSError as error:
                raise UsageError(f"--json {self._name}: {error.strerror}") from error
        return self._file

    def __exit__(self, *_: object) -> None:
        if self._file:
            # Every record was flushed; what may be left is the one whose failure has been told.
            with contextlib.suppress(OSError):
                self._file.close()


class _terminable:  # noqa: N801
    """SIGTERM means what Ctrl-C means while the judges run."""

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._before)


if __name__ == "__main__":
    sys.exit(main())
