"""The yardstick: judges one submission in KernelBench's way, in its own process.

    python -m benchmarks.stock_protocol --submission FILE --problem FILE --out FILE [--constants JSON] [--device cuda|cpu] [--calls N]

What is done, in a row: torch is imported; the reference is loaded; the submission is executed, where PyTorch's own `load_inline` compiles
it with PyTorch's own flags; in five rounds inputs are drawn by get_inputs() on the CPU and moved, both models run, shapes are compared and
then values with `torch.allclose` (a round with wrong values does not end the rounds, a wrong shape or an exception does); where all five
agree, the candidate is called 3 times to warm up and 100 times between two CUDA events, each waited for, and then the reference is. On the
CPU the clock is perf_counter.

In doubt this is quicker than the original: the reference is timed over the inputs that the candidate was timed over, where the original
makes new ones; inputs keep their types; and nothing is printed. Submissions run without a sandbox: use only trusted ones.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROUNDS = 5
CALLS = 100
WARM_UP_CALLS = 3
TOLERANCE = 1e-4
"""Absolute and relative tolerance; the original's for float32."""
SEED = 42
TIMEOUT_S = 300.0
MAX_MESSAGE_CHARS = 2000


@dataclass(frozen=True)
class Subject:
    """A submission, and its problem."""

    label: str
    code: str
    problem_path: Path
    constants: dict[str, Any]
    """Module-level constants of the problem's case, set after executing its file."""


@dataclass(frozen=True)
class StockRun:
    """The yardstick's verdict on a submission, and its duration."""

    label: str
    verdict: str
    """correct, incorrect, compile_failed (any exception while the file is executed), run_failed, crashed or timed_out."""
    message: str
    wall_s: float
    """From start to end of the process."""
    stages_s: dict[str, float]
    """Seconds by stage, without the interpreter's start; empty if the process did not finish."""
    runtime_ms: float | None = None
    """Mean of the timed calls, as in the original."""
    baseline_ms: float | None = None


def run_stock(subject: Subject, device: str, extensions: Path, calls: int = CALLS, timeout_s: float = TIMEOUT_S) -> StockRun:
    """Judge `subject` in a new process on `device`, cuda or cpu. `extensions` becomes PyTorch's build folder: cold if it is new."""
    extensions.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-stock-") as name:
        folder = Path(name)
        source, out, log = folder / "submission.py", folder / "out.json", folder / "log"
        source.write_text(subject.code, encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.stock_protocol", "--submission", str(source), "--problem", str(subject.problem_path)]
        command += ["--constants", json.dumps(subject.constants), "--device", device, "--calls", str(calls), "--out", str(out)]
        start = time.perf_counter()
        with log.open("wb") as output:
            in_time = run_group(command, {"TORCH_EXTENSIONS_DIR": str(extensions)}, output.fileno(), timeout_s)
        wall_s = time.perf_counter() - start
        if out.exists():
            return StockRun(label=subject.label, wall_s=wall_s, **json.loads(out.read_text(encoding="utf-8")))
        tail = log.read_text(encoding="utf-8", errors="replace")[-MAX_MESSAGE_CHARS:]
    return StockRun(subject.label, "crashed" if in_time else "timed_out", tail, wall_s, {})


def run_group(command: Sequence[str], variables: dict[str, str], output: int, timeout_s: float) -> bool:
    """Run a command to its end, or kill it with its child processes; returns whether it ended by itself."""
    # ninja may be installed beside the interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, **variables}
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    ) as process:
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return True


@dataclass
class _Finding:
    """The outcome of the process; the fields of StockRun that it knows."""

    verdict: str = "correct"
    message: str = ""
    stages_s: dict[str, float] = field(default_factory=dict)
    runtime_ms: float | None = None
    baseline_ms: float | None = None

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.stages_s[name] = self.stages_s.get(name, 0.0) + time.perf_counter() - start


class _FailedError(Exception):
    """The submission failed; its verdict was noted."""


@dataclass
class _Evaluation:
    """The judging of one submission."""

    options: argparse.Namespace
    finding: _Finding

    def run(self) -> None:
        """Judge it. Raises _FailedError."""
        with self.finding.stage("import"):
            import torch
        self.device = torch.device(self.options.device)
        with torch.no_grad():
            with self.finding.stage("reference"):
                self._load_reference()
            with self.finding.stage("load"), self._blaming("compile_failed"):
                submission = _execute(self.options.submission, {})
                self._synchronize()
            with self.finding.stage("construct"), self._blaming("run_failed"):
                torch.manual_seed(SEED)
                self.candidate: Callable[..., Any] = submission["ModelNew"](*self.arguments).to(self.device)
                self.reference.to(self.device)
                self._synchronize()
            self._compare()
            if self.finding.verdict == "correct":
                self._time()

    def _load_reference(self) -> None:
        import torch

        names = _execute(self.options.problem, json.loads(self.options.constants))
        torch.manual_seed(SEED)
        self.arguments = [self._moved(value) for value in names["get_init_inputs"]()]
        self.draw: Callable[[], list[Any]] = names["get_inputs"]
        torch.manual_seed(SEED)
        self.reference: torch.nn.Module = names["Model"](*self.arguments)

    def _inputs(self, seed: int) -> list[Any]:
        import torch

        with self.finding.stage("inputs"):
            torch.manual_seed(seed)
            inputs = [self._moved(value) for value in self.draw()]
            self._synchronize()
        return inputs

    def _compare(self) -> None:
        import torch

        torch.manual_seed(SEED)
        for seed in [int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in range(ROUNDS)]:
            inputs = self._inputs(seed)
            with self.finding.stage("rounds"):
                expected = self.reference(*inputs)
                self._synchronize()
                with self._blaming("run_failed"):
                    answer = self.candidate(*inputs)
                    self._synchronize()
                    self._compare_values(answer, expected)

    def _compare_values(self, answer: "torch.Tensor", expected: "torch.Tensor") -> None:
        import torch

        if answer.shape != expected.shape:
            self.finding.verdict, self.finding.message = "incorrect", f"shape {tuple(answer.shape)} instead of {tuple(expected.shape)}"
            raise _FailedError
        if not torch.allclose(expected, answer, atol=TOLERANCE, rtol=TOLERANCE):
            largest = torch.max(torch.abs(expected - answer)).item()
            mean = torch.mean(torch.abs(expected - answer)).item()
            self.finding.verdict, self.finding.message = "incorrect", f"differs by up to {largest:.6f}, by {mean:.6f} in the mean"

    def _time(self) -> None:
        inputs = self._inputs(SEED)
        with self.finding.stage("timing"), self._blaming("run_failed"):
            self.finding.runtime_ms = self._timed(self.candidate, inputs)
        with self.finding.stage("timing of the reference"):
            self.finding.baseline_ms = self._timed(self.reference, inputs)

    def _timed(self, model: Callable[..., Any], inputs: list[Any]) -> float:
        for _ in range(WARM_UP_CALLS):
            model(*inputs)
            self._synchronize()
        once = self._timed_by_events if self.device.type == "cuda" else _timed_by_clock
        return statistics.fmean(once(model, inputs) for _ in range(self.options.calls))

    def _timed_by_events(self, model: Callable[..., Any], inputs: list[Any]) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        model(*inputs)
        end.record()
        self._synchronize()
        return float(start.elapsed_time(end))

    def _moved(self, value: Any) -> Any:
        import torch

        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def _synchronize(self) -> None:
        import torch

        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @contextlib.contextmanager
    def _blaming(self, verdict: str) -> Iterator[None]:
        """Turn any exception inside into the submission's failure."""
        try:
            yield
        except _FailedError:
            raise
        # The submission's own code runs in here, and may raise anything.
        except Exception as error:
            self.finding.verdict, self.finding.message = verdict, f"{type(error).__name__}: {error}"[-MAX_MESSAGE_CHARS:]
            raise _FailedError from error


def _timed_by_clock(model: Callable[..., Any], inputs: list[Any]) -> float:
    start = time.perf_counter()
    model(*inputs)
    return (time.perf_counter() - start) * 1e3


def _execute(path: Path, constants: dict[str, Any]) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    names.update(constants)  # in place: the file's functions look their globals up in this very dictionary
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 wherever there is a verdict."""
    options = _parser().parse_args(arguments)
    finding = _Finding()
    with contextlib.suppress(_FailedError):
        _Evaluation(options, finding).run()
    options.out.write_text(json.dumps(asdict(finding)), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stock_protocol", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--submission", type=Path, required=True, metavar="FILE", help="defines ModelNew")
    parser.add_argument("--problem", type=Path, required=True, metavar="FILE", help="defines Model, get_inputs and get_init_inputs")
    parser.add_argument("--constants", default="{}", metavar="JSON", help="constants of the problem's file that are set to other values")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="default: %(default)s")
    parser.add_argument("--calls", type=int, default=CALLS, metavar="N", help="timed calls of each (default %(default)s)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the verdict is written, as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
