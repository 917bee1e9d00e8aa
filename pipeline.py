"""Judge generated GPU kernels: `python pipeline.py PATH...`.

Reads submissions, judges each in a sandbox, stores every result, and prints a summary. Nothing heavy is imported before it is needed.
"""

import argparse
import contextlib
import itertools
import json
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.rows import EvaluationKey
    from db.store import Store
    from evaluator.declaration import PrecisionName
    from evaluator.devices import Device
    from evaluator.engine.local import LocalEngine
    from evaluator.engine.problems import ProblemReader
    from evaluator.engine.warm import EarlyStart
    from evaluator.judge.bench import Job
    from evaluator.result import Result
    from evaluator.sandbox import Level
    from evaluator.sanitizer.tools import Sanitizer, Wish
    from evaluator.submission import Found, Submission

EXIT_ALL_EVALUATED, EXIT_SOME_NOT_EVALUATED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
MAX_TIMEOUT_S = 86400.0
FEEDBACK_FORMATS = ("markdown",)


class UsageError(Exception):
    """What was asked for can't be done; the message is for the person who asked."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        with _early_start(options) as early:
            return _main(options, early)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED  # before anything was judged


def _early_start(options: argparse.Namespace) -> "contextlib.AbstractContextManager[EarlyStart | None]":
    """Have the warm parents import PyTorch while all that follows is imported here; not where it is plain that they won't be needed."""
    if options.engine != "local" or not all(path.exists() for path in options.paths):
        return contextlib.nullcontext()
    from evaluator.engine.warm import EarlyStart

    return EarlyStart(options.device, _level(options))


def _level(options: argparse.Namespace) -> "Level | None":
    from evaluator.sandbox import Level

    if options.no_sandbox:
        return Level.NONE
    return Level(options.sandbox) if options.sandbox else None


def _main(options: argparse.Namespace, early: "EarlyStart | None") -> int:
    from db.error import StoreError
    from evaluator.build.native import NativeBuildError
    from evaluator.devices import DeviceError
    from evaluator.problem import ProblemError
    from evaluator.sandbox import SandboxUnavailable
    from evaluator.sanitizer.tools import SanitizerMissingError
    from evaluator.submission import InputError

    # Names of files and messages of submissions may hold what the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return run(options, early)
    except BrokenPipeError:
        # Whoever read the output has seen enough (`| head`); nothing may be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_SOME_NOT_EVALUATED
    except (
        UsageError,
        InputError,
        ProblemError,
        StoreError,
        DeviceError,
        SandboxUnavailable,
        NativeBuildError,
        SanitizerMissingError,
    ) as error:
        print(f"pipeline.py: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_USAGE


class _Explain(argparse.Action):
    """Prints what a category means, and ends: no PATH is needed for that."""

    def __call__(self, parser: argparse.ArgumentParser, _namespace: Any, values: Any, _option: str | None = None) -> None:
        from evaluator.explanation import UnknownCategoryError, explain

        try:
            sys.stdout.write(explain(values))
        except UnknownCategoryError as error:
            parser.exit(EXIT_USAGE, f"pipeline.py: {error}\n")
        parser.exit()


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
    add(
        "--dtype",
        type=_precision,
        metavar="TYPE",
        help="judge each problem in this precision: fp16, bf16, fp32 or fp64 (default: the problem's own)",
    )
    add("--db", default="sqlite:///assay.db", metavar="URL", help="SQLAlchemy URL of the database (default: %(default)s)")
    add("--json", metavar="FILE", help="write one JSON object per evaluation as results come; - for standard output")
    add(
        "--feedback",
        nargs=2,
        metavar=("FORMAT", "FILE"),
        help="write what is to be said to the author of each submission; FORMAT: markdown",
    )
    add("--jobs", type=_positive, metavar="N", help="judges side by side (default: by processors and memory)")
    add("--timeout", type=float, default=60.0, metavar="S", help="seconds that one call of forward() may take (default: %(default)g)")
    shapes = this.add_mutually_exclusive_group()
    shapes.add_argument("--strict-shapes", action="store_true", help="what is wrong in other shapes than its own is incorrect")
    shapes.add_argument("--own-shapes", action="store_true", help="ask nothing in other shapes, which saves a start and a few calls")
    add("--rerun", action="store_true", help="judge again what is already judged")
    add("--author", metavar="NAME", help="author of every submission")
    add("--protocol", metavar="NAME", help="how calls are timed: cold, throughput or graph on a GPU, cpu elsewhere (default: cold or cpu)")
    add(
        "--baseline",
        type=_baselines,
        default=("eager",),
        metavar="KINDS",
        help="what submissions are timed beside: eager, and perhaps compile (torch.compile), with a comma between them (default: eager)",
    )
    add("--engine", choices=("local", "ray"), default="local", help="where evaluations run (default: %(default)s)")
    add("--explain", action=_Explain, metavar="CATEGORY", help="print what a category means, what it rests on and what to do, and end")
    add(
        "--sanitize",
        type=_wish,
        metavar="TOOLS",
        help="watch submissions with compute-sanitizer after their verdict: memcheck, racecheck, initcheck, synccheck (with commas between "
        "them), all, or auto: all of them, over what was wrong or crashed",
    )
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


def _precision(text: str) -> "PrecisionName":
    from evaluator.declaration import PRECISIONS

    if text not in PRECISIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(PRECISIONS)}")
    return PRECISIONS[text]


def _baselines(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(["eager", *text.split(",")]))
    if unknown := set(kinds) - {"eager", "compile"}:
        raise argparse.ArgumentTypeError(f"there is no baseline {', '.join(sorted(unknown))}; there is eager, compile")
    return kinds


def _wish(text: str) -> "Wish":
    from evaluator.sanitizer.tools import read_wish

    try:
        return read_wish(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(options: argparse.Namespace, early: "EarlyStart | None" = None) -> int:
    """Judge what the options name. Raises UsageError and the errors of what it uses."""
    from db.store import Store
    from evaluator.devices import choose_all
    from evaluator.engine.problems import ProblemReader
    from evaluator.problem import discover
    from evaluator.submission import find

    if options.engine == "ray":
        raise UsageError("--engine ray is not part of this version; leave it out to judge on this machine")
    if not 0 < options.timeout <= MAX_TIMEOUT_S:
        raise UsageError(f"--timeout is a number of seconds above 0 and at most {MAX_TIMEOUT_S:g}")
    if options.feedback and options.feedback[0] not in FEEDBACK_FORMATS:
        raise UsageError(f"--feedback has no format {options.feedback[0]!r}; there is {', '.join(FEEDBACK_FORMATS)}")
    known = discover(options.reference)
    if options.problem:
        options.problem = _meant(options.problem, known)
    submissions = find(options.paths, options.every_block, options.problem, options.author, known)
    devices, stands_in = choose_all(options.device)
    _check_protocol(options.protocol, devices[0])
    sanitizer = _sanitizer(options.sanitize, devices[0]) if options.sanitize else None
    feedback_name = options.feedback[1] if options.feedback else None
    with (
        Store.open(options.db) as store,
        _output_file("--json", options.json) as json_file,
        _output_file("--feedback markdown", feedback_name) as feedback_file,
        ProblemReader(known, options.dtype) as problems,
    ):
        store.start_run(sys.argv, submissions.expected)
        session = Session(options, store, json_file, feedback_file, devices, stands_in, problems, sanitizer, early)
        return session.judge(submissions)


def _meant(problem: str, known: Mapping[str, Path]) -> str:
    """The name of the problem that is meant by a name, a file or a number. Raises UsageError."""
    from evaluator.attribution import Catalogue

    catalogue = Catalogue(known)
    name = catalogue.named(problem)
    if name is None:
        near = catalogue.nearest(problem) or tuple(known)
        raise UsageError(f"there is no problem {problem!r}; there is {', '.join(near[:20])}{' …' if len(near) > 20 else ''}")
    return name


def _check_protocol(name: str | None, device: "Device") -> None:
    """Raises UsageError."""
    from evaluator.judge.protocols import UnknownProtocolError, choose

    try:
        choose(name, device.kind)
    except UnknownProtocolError as error:
        raise UsageError(f"--protocol: {error}") from error


def _sanitizer(wish: "Wish", device: "Device") -> "Sanitizer":
    """Raises UsageError, SanitizerMissingError."""
    from evaluator.sanitizer.tools import find

    if device.kind != "cuda":
        raise UsageError("--sanitize needs an NVIDIA GPU, and this run judges on the CPU; leave it out there")
    return find(wish)


@dataclass
class Session:
    """One run of the command line."""

    options: argparse.Namespace
    store: "Store"
    json_file: IO[str] | None
    feedback_file: IO[str] | None
    devices: tuple["Device", ...]
    """Of one model, or the processor alone."""
    stands_in: bool
    problems: "ProblemReader"
    sanitizer: "Sanitizer | None" = None
    early: "EarlyStart | None" = None
    skipped: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from evaluator.display import Display
        from evaluator.interrupts import Interrupts

        self.device = self.devices[0]
        self.display = Display(to_stderr=self.options.json == "-" or bool(self.options.feedback and self.options.feedback[1] == "-"))
        self._interrupts = Interrupts()
        self._keeping = threading.Lock()
        """What is rejected is kept by the threads that read, results by the main thread."""

    def judge(self, submissions: "Found") -> int:
        """Judge all that is not judged yet; returns the exit code."""
        from evaluator.engine.local import LocalEngine

        if self.store.recovered:
            self.display.say(f"{self.store.recovered} results that an earlier run could not store have been imported.")
        if self.stands_in:
            self.display.say("No GPU here: C++ submissions are judged on the CPU, CUDA ones are compiled where there is an nvcc.")
        with LocalEngine(self._engine_options(), self.early) as engine, self._interrupts:
            try:
                interrupted = self._judge_with(engine, submissions)
            except KeyboardInterrupt:
                interrupted = True  # before there was anything to be judged
        self.display.summary(self.skipped, self.store.name)
        if interrupted:
            return EXIT_INTERRUPTED
        return EXIT_SOME_NOT_EVALUATED if self.counts["not_evaluated"] else EXIT_ALL_EVALUATED

    def _judge_with(self, engine: "LocalEngine", submissions: "Found") -> bool:
        """Judge with this engine, which is started when there is something to be judged; whether it was interrupted."""
        from evaluator.reading import emptied, read_ahead

        head = read_ahead(submissions)
        # Loading a problem raises what is wrong with it before anything has been judged or shown.
        for name in dict.fromkeys(submission.problem for submission in head if submission.problem):
            self.problems.check(name, self._case(name))
        with self.display.progress(submissions.expected):
            jobs = self._jobs(itertools.chain(emptied(head), submissions))
            first = next(jobs, None)
            return first is not None and self._run_engine(engine, itertools.chain([first], jobs))

    def _run_engine(self, engine: "LocalEngine", jobs: Iterator["Job"]) -> bool:
        """Judge the jobs; whether it was interrupted."""
        from evaluator.category import Category
        from evaluator.engine.engine import unjudged

        self.display.say("Starting the judges …")
        try:
            engine.start()
            names = ", ".join(device.spec for device in self.devices)
            self.display.say(f"{names} ({self.device.name}), sandbox: {engine.sandbox_level}")
            for arrival in engine.run_together(jobs, self.display.stage):
                # Once taken they are in flight no longer, so that each has to have its row before the run may end.
                with self._interrupts.held():
                    self._keep([(result, job.code, job.first_line) for job, result in arrival.take()])
        except KeyboardInterrupt:
            # A second Ctrl-C while judges are being ended must not cost what was in flight its row.
            with contextlib.suppress(KeyboardInterrupt), self._interrupts.held():
                engine.close()
                self._keep(
                    [
                        (
                            unjudged(job, Category.INTERRUPTED, "interrupted before it had a verdict", self.device.spec),
                            job.code,
                            job.first_line,
                        )
                        for job in engine.in_flight
                    ]
                )
            return True
        return False

    def _jobs(self, submissions: Iterable["Submission"]) -> Iterator["Job"]:
        """What has to be judged; what is rejected or judged already is dealt with on the way."""
        from evaluator.reading import batches

        count = 0
        for batch in batches(submissions):
            count += len(batch)
            self.display.read(count)
            keys = [self._key(submission) for submission in batch]
            judged = frozenset() if self.options.rerun else self.store.judged_among(keys)
            due = [(submission, key) for submission, key in zip(batch, keys, strict=True) if key not in judged]
            self.skipped += len(batch) - len(due)
            self.display.skip(len(batch) - len(due))
            rejected = [submission for submission, _ in due if submission.rejection is not None]
            self._keep([(_rejected(submission), submission.code, submission.first_line) for submission in rejected])
            yield from (self._job(submission, key) for submission, key in due if submission.rejection is None)
        self.display.read(count, all_of_them=True)
        self.store.expect(count - self.skipped)

    def _key(self, submission: "Submission") -> "EvaluationKey":
        from db.rows import EvaluationKey
        from evaluator.judge.protocols import alternative

        name = submission.problem
        problem = self.problems.get(name) if name and not submission.rejection else None
        return EvaluationKey(
            submission=submission.name,
            block=submission.block,
            source_sha256=submission.source_sha256,
            problem_sha256=problem.sha256 if problem else None,
            case=self._case(name) if problem and name else None,
            device_name=self.device.name if problem else "",
            precision=problem.precision if problem else None,
            protocol=alternative(self.options.protocol) if problem else None,
        )

    def _job(self, submission: "Submission", key: "EvaluationKey") -> "Job":
        from evaluator.judge.bench import Job

        assert submission.problem is not None
        return Job(
            submission=submission.name,
            block=submission.block,
            author=submission.author,
            sample_id=submission.sample_id,
            code=submission.code,
            source_sha256=submission.source_sha256,
            problem=submission.problem,
            problem_path=self.problems.get(submission.problem).path,
            case=key.case,
            note=submission.note,
            timeout_s=self.options.timeout,
            precision=self.options.dtype,
            shapes="strict" if self.options.strict_shapes else "own" if self.options.own_shapes else "others",
            first_line=submission.first_line,
            protocol=self.options.protocol,
            baselines=self.options.baseline,
        )

    def _case(self, problem: str) -> str:
        case: str | None = self.options.case
        return case or self.problems.get(problem).default_case(self.device.kind)

    def _keep(self, found: Sequence[tuple["Result", str, int]]) -> None:
        """Store results with their sources, in one transaction, then tell of each. The number is the line that the source begins on."""
        from db.rows import storable_result
        from db.store import Entry

        entries = []
        for result, source, first_line in found:
            problem = self.problems.get(result.problem) if result.problem else None
            if first_line != 1:
                evidence = result.evidence.model_copy(update={"first_line": first_line})
                result = result.model_copy(update={"evidence": evidence})
            entries.append(Entry(storable_result(result), source, problem.source if problem else None))
        with self._keeping:
            for number, entry, (_, source, first_line) in zip(self.store.save_all(entries), entries, found, strict=True):
                self.counts[entry.result.status] += 1
                if self.json_file or self.feedback_file:
                    self._tell(number, entry.result, source, first_line)
                self.display.result(number, entry.result)

    def _tell(self, number: int, result: "Result", source: str, first_line: int) -> None:
        """Write one result to the files that were asked for."""
        from evaluator.diagnosis.feedback import feedback

        told = feedback(result, source, first_line)
        if self.json_file:
            record = {"id": number, **result.summary(), "line": told.line, "feedback": told.text}
            self._write("--json", self.options.json, self.json_file, json.dumps(record, ensure_ascii=False, allow_nan=False))
        if self.feedback_file:
            title = f"{number}: {result.submission}" + (f", block {result.block}" if result.block else "")
            self._write("--feedback", self.options.feedback[1], self.feedback_file, told.markdown(title))

    def _write(self, option: str, name: str, file: IO[str], text: str) -> None:
        try:
            file.write(text + "\n")
            file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise UsageError(f"{option} {name}: {error.strerror}; the results so far are in the database") from error

    def _engine_options(self) -> Any:
        from db.calibrations import newest
        from evaluator.build.cache import default_root
        from evaluator.engine.capacity import of_this_machine
        from evaluator.engine.options import EngineOptions

        fits = of_this_machine(self.devices, self.options.jobs)
        return EngineOptions(
            device=self.device,
            more_devices=self.devices[1:],
            stands_in=self.stands_in,
            judges=fits.judges,
            cache_root=default_root(),
            level=_level(self.options),
            build_slots=fits.build_slots,
            slot_bytes=fits.slot_bytes,
            calibrations=newest(self.store, [device.unique_id for device in self.devices]),
            sanitizer=self.sanitizer,
        )


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


class _output_file:  # noqa: N801
    """The file that an option names, or None; raises UsageError where it can't be written."""

    def __init__(self, option: str, name: str | None) -> None:
        self._option, self._name = option, name

    def __enter__(self) -> IO[str] | None:
        self._file: IO[str] | None = None
        if self._name == "-":
            return sys.stdout
        if self._name:
            try:
                self._file = Path(self._name).open("w", encoding="utf-8")
            except OSError as error:
                raise UsageError(f"{self._option} {self._name}: {error.strerror}") from error
        return self._file

    def __exit__(self, *_: object) -> None:
        if self._file:
            # Every record was flushed; what may be left is the one whose failure has been told.
            with contextlib.suppress(OSError):
                self._file.close()


if __name__ == "__main__":
    sys.exit(main())
