"""One evaluation under way: the stages in their order, and the evidence as it grows."""

import contextlib
import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import torch

from evaluator.category import Category, Status
from evaluator.devices import Device, cpu_count
from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge import sanitizing
from evaluator.judge.ablation import AblationFailedError, ablate, answer_without
from evaluator.judge.bench import Bench, Job
from evaluator.judge.device_state import watch_of
from evaluator.judge.fitness import effortless_answers
from evaluator.judge.floor import find_floor
from evaluator.judge.further import COMPILE, COMPILING, FurtherBaselines, call_once
from evaluator.judge.generalisation import judge_shape
from evaluator.judge.inputs import construct, fresh_seed
from evaluator.judge.light import find_light
from evaluator.judge.lock import DeviceLock
from evaluator.judge.memory import Memory
from evaluator.judge.oracle import Oracle, ReferenceFailedError
from evaluator.judge.protocols import choose
from evaluator.judge.rounds import Judgement, Rounds
from evaluator.judge.second_run import ENVIRONMENT, culprit, deadline_s, is_wanted
from evaluator.judge.session import NeedsDeviceError, Worker, WorkerError
from evaluator.judge.shortage import blame, tells_of_shortage
from evaluator.judge.timing import BaselineFailedError, Timing, UnfitProtocolError, WrongAnswerError
from evaluator.judge.warm import warm
from evaluator.problem import Problem, ProblemCase, ProblemError
from evaluator.result import Evidence, FaultEvidence, RoundEvidence, TimingEvidence
from evaluator.sandbox import Program, SandboxUnavailable
from evaluator.sanitizer.tools import Sanitizer
from evaluator.shapes import Shape, other_shapes
from evaluator.worker import structure
from evaluator.worker.protocol import ProtocolError

WORKER_ENTRY = "evaluator.worker.main:main"
START_S = 60.0
"""Of a worker, which if cold imports torch first, and of CUDA in it."""
LOAD_S = 120.0
"""Deadline of loading and of constructing, builds aside."""
SHAPES_S = 30.0
"""After so long, no further shapes are tried."""
COMPILE_S = 300.0
"""Deadline of the first call of what torch.compile has wrapped."""
ABLATED_S = 10.0
ABLATED_FACTOR = 5
"""Deadline of a call without the submission's own kernels: so long, and so many times what all rounds took. A loop that waits for what
they would have written does not end."""

log = logging.getLogger(__name__)

Report = Callable[[str], None]


class Attempt:
    """Judges one submission on one bench; `run` once, then read `evidence`, then `close`."""

    def __init__(self, bench: Bench, job: Job, problem: Problem, case: ProblemCase, report: Report) -> None:
        self._bench, self._job, self._problem, self._case, self._report = bench, job, problem, case, report
        self._device = torch.device(bench.device.torch_device)
        self._memory = Memory(self._device)
        self._lock = DeviceLock(bench.device.unique_id)
        self._workers: list[Worker] = []
        """Those that the submission runs in."""
        self._candidate: Worker | None = None
        self._baseline: Worker | None = None
        self._aside = ThreadPoolExecutor(max_workers=2, thread_name_prefix="aside")
        self._ready: Future[Worker] | None = None
        """The baseline's worker, once it has been asked for."""
        self._seed = fresh_seed()
        """Of the models' construction; inputs have seeds of their own."""
        self._rounds: list[RoundEvidence] = []
        self._form: Any = None
        """What an answer looks like, once the rounds have been passed."""
        self._protocol = choose(job.protocol, bench.device.kind)
        self._fallback = ""
        """Why that is not the protocol that was asked for, where it is not."""
        self.evidence = Evidence(sandbox=bench.zygote.level, note=job.note)

    def run(self) -> Verdict:
        """Go as far as the submission gets, and say what it comes to."""
        verdict: Verdict | None = None
        try:
            self._judge()
        except WorkerError:
            pass  # the worker's own record says what happened
        except ProtocolError as error:
            self._note(protocol_error=str(error)[:2000])
        except NeedsDeviceError as error:
            verdict = Verdict(Category.NO_DEVICE, str(error))
        except (ProblemError, ReferenceFailedError, BaselineFailedError, AblationFailedError, SandboxUnavailable) as error:
            verdict = self._without_blame(error, str(error))
        # The judge's own device, memory or code failed. Whatever it was, it is evidence, and must not take the judge's process along.
        except Exception as error:
            log.exception("judging %s failed", self._job.submission)
            self._note(detail=traceback.format_exc()[-20_000:])
            verdict = self._without_blame(error, f"{type(error).__name__}: {error}"[:1000])
        self._collect()
        verdict = verdict or self._diagnose()
        if is_wanted(verdict, self.evidence.launches, self.evidence.stage):
            self._run_again()
            verdict = self._diagnose()
        sanitizer = self._bench.sanitizer
        if sanitizer is not None and sanitizing.is_wanted(sanitizer.wish, verdict, self.evidence.launches):
            self._sanitize(sanitizer)
        return verdict

    def _sanitize(self, sanitizer: Sanitizer) -> None:
        """Have the submission watched by compute-sanitizer; the verdict stands, whatever comes of it."""
        start = time.monotonic()
        try:
            self._make_room()
            self._note(sanitizer=self._sanitizing().run(sanitizer))
        except Exception as error:  # whatever it is: the verdict stands
            log.info("%s was not sanitized: %s", self._job.submission, error, exc_info=True)
        self._note(stages_s=self.evidence.stages_s | {"sanitize": round(time.monotonic() - start, 3)})

    def _sanitizing(self) -> sanitizing.Sanitizing:
        return sanitizing.Sanitizing(
            bench=self._bench,
            job=self._job,
            problem=self._problem,
            case_name=self._case.name,
            lock=self._lock,
            environment=_worker_environment(self._bench.device),
            readonly=tuple(_without(self._bench.readonly, self._job.problem_path)),
            report=self._report,
        )

    def _run_again(self) -> None:
        """Look for the kernel that broke the device, in a second run; whatever goes wrong with that is no part of the verdict."""
        self._report("second run")
        start = time.monotonic()
        try:
            self._note(fault=self._second_run())
        except Exception as error:  # whatever it is: the verdict stands
            log.info("the second run of %s shows nothing: %s", self._job.submission, error, exc_info=True)
        self._note(stages_s={**self.evidence.stages_s, "second_run": round(time.monotonic() - start, 3)})

    def _make_room(self) -> None:
        """End all workers, and leave the device to others."""
        self._end_all()
        self._leave_device()

    def _second_run(self) -> FaultEvidence | None:
        self._make_room()
        call_s = deadline_s(self.evidence, self._job.timeout_s)
        worker = self._fork(ENVIRONMENT)
        self._workers.append(worker)
        self._greet(worker)
        try:
            self._load(worker, self._job.code, "ModelNew", threads=self._threads)
            self._take_device(worker)
            arguments, model = self._case.init_inputs(self._seed), self._case.model(self._seed, self._device)
            self._construct(worker, arguments, model, call_s)
            rounds = Rounds(worker, self._case, Oracle(model, self._case.rows_independent), self._memory, call_s)
            rounds.provoke(len(self._rounds) + 1)
        except WorkerError:
            pass  # as in the first run; its record says where
        worker.end()
        if worker.launches is None:
            return None
        return culprit(worker.launches.read(), worker.exception, worker.exit is not None and worker.exit.deadline_s is not None)

    def _without_blame(self, error: Exception, message: str) -> Verdict | None:
        """The verdict where the judge or the machine failed; none where that is for a submission which holds the device's memory."""
        # A lost supervisor or a lost device: no submission is to blame. Nor where others may have the device.
        with contextlib.suppress(SandboxUnavailable, RuntimeError):
            if self._lock.held and (starving := blame(error, self._workers, self._device)) is not None:
                self._note(starving=starving)
                return None
        return Verdict(Category.INFRASTRUCTURE_ERROR, message)

    def close(self) -> None:
        """Kill what runs, free what was allocated, let others have the device."""
        for worker in self._workers:
            worker.close()
        if self._ready is None or self._ready.done():
            self._close_baseline()
        try:
            self._leave_device()
        finally:
            self._aside.shutdown()  # a baseline that nobody has waited for may still be starting; others needn't wait for that
            self._close_baseline()
            self._lock.close()

    def _close_baseline(self) -> None:
        if self._baseline:
            self._baseline.close()
            self._baseline = None

    def _leave_device(self) -> None:
        """Free what was allocated, and let others have the device, also where it is lost."""
        try:
            self._memory.close()
            self._empty_cache()
        finally:
            self._lock.release()

    def _empty_cache(self) -> None:
        """Give the driver back what PyTorch keeps of this process's tensors: workers may need it."""
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _judge(self) -> None:
        candidate = self._reach_device(self._load_candidate())
        self._prepare_baseline()
        arguments = self._case.init_inputs(self._seed)
        model = self._case.model(self._seed, self._device)
        with self._stage(candidate, "construct"):
            self._construct(candidate, arguments, model)
        with self._stage(candidate, "rounds"):
            oracle = Oracle(model, self._case.rows_independent)
            passed = self._run_rounds(candidate, oracle)
        if passed:
            with candidate.entering("baseline"):
                baseline = self._take_baseline()
            with self._stage(candidate, "timing"):
                self._run_timing(candidate, baseline, oracle, arguments, model)
            if self.evidence.conditions is not None and self.evidence.conditions.disturbed:
                with candidate.spending("second_timing"):
                    self._repeat_timing(oracle, arguments, model)
            with candidate.spending("timing"):
                self._note_limits(oracle, model)
            self._collect()
            if self._diagnose().category is Category.OK:
                self._look_at_problem(candidate)
                self._run_ablation(candidate, oracle, arguments, model)
            if self._job.shapes != "own" and self._diagnose().category is Category.OK:
                self._run_shapes(candidate)

    def _load_candidate(self) -> Worker:
        """A worker that has loaded the submission. Others may have the device meanwhile, and all of its memory."""
        candidate = self._start_candidate()
        try:
            self._load_submission(candidate)
        except WorkerError:
            if not _found_no_memory(candidate):
                raise
            return self._load_alone(candidate)
        return candidate

    def _reach_device(self, candidate: Worker) -> Worker:
        """The worker that has the device: this one, or another one in its place where this one found no memory on it."""
        try:
            self._take_device(candidate, early=self._prepare_baseline)
        except WorkerError:
            if not _found_no_memory(candidate):
                raise
            candidate = self._load_alone(candidate)
            self._take_device(candidate)
        return candidate

    def _take_device(self, worker: Worker, early: Callable[[], None] = lambda: None) -> None:
        """Wait for the device. Of all that wait for a GPU a few start CUDA, which takes a while, while another has it: each that did would
        take memory there, and of the driver's time, which is everybody's. `early` is called then, too.
        """
        with worker.entering("wait"):
            self._lock.take_place()
        warming: Future[None] | None = None
        if self._device.type == "cuda":
            early()
            warming = self._aside.submit(self._warm)
            try:
                with worker.entering("load"):
                    worker.request("start", START_S)
            finally:
                wait([warming])
        with worker.entering("wait"):
            self._lock.acquire()
        if warming is not None and warming.exception() is not None:
            self._warm()  # whoever had the device then, had its memory too

    def _warm(self) -> None:
        warm(self._problem, self._device, self._bench.warmed)

    def _load_alone(self, failed: Worker) -> Worker:
        """Another worker that has loaded the submission, in the place of one that found no memory, when nobody else has the device."""
        failed.end()
        candidate = self._start_candidate()
        candidate.stages_s = failed.stages_s
        with candidate.entering("wait"):
            self._lock.acquire()
        self._load_submission(candidate)
        return candidate

    def _start_candidate(self) -> Worker:
        self._candidate = self._start("start")
        return self._candidate

    def _load_submission(self, candidate: Worker) -> None:
        with self._stage(candidate, "load"):
            self._load(candidate, self._job.code, "ModelNew", threads=self._threads)

    def _stage(self, worker: Worker, name: str) -> Any:
        self._report(name)
        return worker.entering(name)

    def _start(self, stage: str) -> Worker:
        """A worker for the submission."""
        self._report(stage)
        worker = self._fork()
        self._workers.append(worker)
        with worker.entering(stage):
            self._greet(worker)
        return worker

    def _prepare_baseline(self) -> None:
        """Ask for the baseline's worker, once: on a GPU, where that takes long, while another submission still has the device. On the CPU
        that would take the processor from the other."""
        self._ready = self._ready or self._aside.submit(self._start_baseline)

    def _take_baseline(self) -> Worker:
        """The baseline's worker. One that failed while another had the GPU, and perhaps all of its memory, is started again."""
        assert self._ready is not None
        try:
            return self._ready.result()
        except (BaselineFailedError, SandboxUnavailable):
            if self._device.type == "cpu":
                raise
        self._close_baseline()
        return self._start_baseline()

    def _start_baseline(self) -> Worker:
        """The baseline's worker, with its model's code loaded; in a thread."""
        worker = self._baseline = self._fork()
        self._greet(worker)
        try:
            self._load(worker, self._problem.source, "Model", threads=self._threads, constants=self._case.constants)
            if self._device.type == "cuda":
                worker.request("start", START_S)
        except WorkerError as error:
            raise BaselineFailedError(f"the baseline's worker failed: {worker.failure}") from error
        return worker

    def _fork(self, environment: Mapping[str, str] | None = None) -> Worker:
        bench = self._bench
        program = Program(
            entry=WORKER_ENTRY,
            env=_worker_environment(bench.device) | dict(environment or {}),
            readonly=(*_without(bench.readonly, self._job.problem_path), *([bench.recorder] if bench.recorder else [])),
            gpu=bench.device.kind == "cuda",
            limits=bench.limits,
            cores=bench.cores,
            preload=bench.recorder,
        )
        no_device = bench.device.kind == "cpu"
        return Worker.start(bench.zygote, program, bench.builder, self._lock, no_device=no_device, record=bench.recorder is not None)

    def _greet(self, worker: Worker) -> None:
        """Hear from the worker before it has seen anything of the submission: what fails until then is ours."""
        try:
            worker.request("ping", START_S)
        except WorkerError as error:
            stderr = worker.confined.output()[1].strip().splitlines()
            raise SandboxUnavailable(f"the worker did not start: {stderr[-1] if stderr else worker.failure}"[:1000]) from error

    @property
    def _threads(self) -> int:
        return (len(self._bench.cores) or cpu_count()) if self._device.type == "cpu" else 1

    def _load(
        self,
        worker: Worker,
        source: str,
        class_name: str,
        *,
        threads: int,
        constants: Mapping[str, Any] | None = None,
        ablate: bool = False,
    ) -> None:
        worker.first_line = self._job.first_line if source is self._job.code else 1
        worker.load(
            source,
            LOAD_S,
            **{"class": class_name},
            device=self._bench.device.torch_device,
            threads=threads,
            constants={name: structure.encode(value, _no_tensor) for name, value in (constants or {}).items()},
            ablate=ablate,
        )

    def _construct(self, worker: Worker, arguments: list[Any], model: torch.nn.Module, deadline_s: float | None = None) -> None:
        construct(worker, self._memory, arguments, model.state_dict(), self._seed, self._case, deadline_s or LOAD_S)

    def _run_rounds(self, candidate: Worker, oracle: Oracle) -> bool:
        rounds = Rounds(candidate, self._case, oracle, self._memory, self._job.timeout_s)
        for evidence in rounds.run():
            self._rounds.append(evidence)
            self._note(sizes=rounds.sizes)
            self._require_cpu_submission(candidate)
        if not self._rounds[-1].passed:
            return False
        self._form = rounds.form
        rounds.close()
        self._empty_cache()
        return True

    def _require_cpu_submission(self, candidate: Worker) -> None:
        """Where the CPU only stands in for a GPU, a submission without a C++ extension was not meant for it."""
        if self._bench.stands_in and not any(build.ok for build in candidate.builds):
            raise NeedsDeviceError("no C++ extension of its own: it is judged on a GPU only")

    def _run_timing(self, candidate: Worker, baseline: Worker, oracle: Oracle, arguments: list[Any], model: torch.nn.Module) -> None:
        try:
            self._construct(baseline, arguments, model)
            try:
                timing = self._time("timing", candidate, baseline, oracle, arguments, model)
            except UnfitProtocolError as error:
                timing = self._time_by_default(error, oracle, arguments, model)
            self._note(timing=timing)
        except WrongAnswerError as error:
            self._note(wrong_timed_answer=error.evidence)
        except WorkerError as error:
            failure = self._baseline.failure if self._baseline else baseline.failure
            if failure:
                raise BaselineFailedError(f"the baseline's worker failed: {failure}") from error
            raise

    def _time(
        self, name: str, candidate: Worker, baseline: Worker, oracle: Oracle, arguments: list[Any], model: torch.nn.Module
    ) -> TimingEvidence:
        """One timing, with the states of the device meanwhile noted, and what they come to."""
        case = (self._case, oracle, self._form, self._memory, self._job.timeout_s)
        with FurtherBaselines(self._job.baselines) as further:
            further.start(lambda kind: self._start_further(kind, arguments, model))
            watch = watch_of(self._bench.device)
            if watch is None:
                timing = Timing(candidate, baseline, *case, protocol=self._protocol, others=further.workers, cores=self._bench.cores).run()
            else:
                try:
                    with watch.timing(name):
                        timing = Timing(candidate, baseline, *case, watch.look, self._protocol, further.workers).run()
                finally:
                    self._note(device_states=(*self.evidence.device_states, *watch.states))
                self._note(conditions=watch.conditions())
        return timing.model_copy(update={"fallback": self._fallback, "failed_baselines": further.failures})

    def _start_further(self, kind: str, arguments: list[Any], model: torch.nn.Module) -> Worker:
        """A worker of the reference's, as torch.compile makes it, that has been called once. Raises WorkerError with the reason."""
        worker = self._fork(COMPILING)
        try:
            self._greet(worker)
            self._load(worker, self._problem.source, "Model", threads=self._threads, constants=self._case.constants)
            construct(worker, self._memory, arguments, model.state_dict(), self._seed, self._case, LOAD_S, compiled=kind == COMPILE)
            call_once(worker, self._memory, self._case.inputs(fresh_seed(), self._device), COMPILE_S)
        except BaseException as error:
            worker.close()
            if isinstance(error, WorkerError):
                raise WorkerError(worker.failure) from error
            raise
        return worker

    def _time_by_default(self, error: UnfitProtocolError, oracle: Oracle, arguments: list[Any], model: torch.nn.Module) -> TimingEvidence:
        """Time by the device's default protocol, with fresh workers, what can't be timed by the one that was asked for."""
        log.info("%s can't be timed by the protocol %s: %s", self._job.submission, self._protocol.name, error)
        self._report("timing by default")
        self._fallback = f"{self._protocol.name}: {error}"
        self._protocol = choose(None, self._bench.device.kind)
        return self._second_timing(oracle, arguments, model, takes_over=True)

    def _repeat_timing(self, oracle: Oracle, arguments: list[Any], model: torch.nn.Module) -> None:
        """Time once more, with fresh workers, because the device was shared or throttled. The second timing counts, be it disturbed too.

        Where nothing comes of it, the first one stands; but an answer that is wrong in it is as wrong as one in the first.
        """
        self._report("second timing")
        before, first = self.evidence.conditions, self.evidence.timing
        assert before is not None and first is not None
        told = {"repeated": True, "first_runtime_ms": first.runtime_ms, "first_baseline_ms": first.baseline_ms}
        try:
            timing = self._second_timing(oracle, arguments, model)
            again = self.evidence.conditions
            assert again is not None
            self._note(timing=timing, conditions=again.model_copy(update=told))
        except WrongAnswerError as error:
            self._note(timing=None, wrong_timed_answer=error.evidence)
        except Exception as error:  # whatever else it is: the first timing stands
            log.info("the second timing of %s comes to nothing: %s", self._job.submission, error, exc_info=True)
            self._note(conditions=before)
            self._hold_against(error)
        finally:
            self._end_all()
            self._lock.acquire()

    def _second_timing(self, oracle: Oracle, arguments: list[Any], model: torch.nn.Module, *, takes_over: bool = False) -> TimingEvidence:
        """While its workers start and load, others may have the device. What the new worker does counts as the candidate's if it
        `takes_over`."""
        self._make_room()
        self._close_baseline()
        worker = self._fork()
        self._workers.append(worker)
        before = self._candidate if takes_over else None
        if before is not None:
            self._candidate = worker
            worker.stage, worker.stages_s = before.stage, before.stages_s
        self._greet(worker)
        self._load(worker, self._job.code, "ModelNew", threads=self._threads)
        baseline = self._start_baseline()
        self._take_device(worker)
        if before is not None:
            worker.stage, worker.builds = before.stage, before.builds  # its own came from the cache
        for one in (worker, baseline):
            self._construct(one, arguments, model)
        return self._time("second timing", worker, baseline, oracle, arguments, model)

    def _hold_against(self, error: Exception) -> None:
        """What breaks the protocol or out of the sandbox is as bad in the second timing as in the first."""
        first, second = self._candidate, self._workers[-1]
        if first is None or second is first:
            return  # there was none
        if isinstance(error, ProtocolError):
            second.protocol_error = second.protocol_error or str(error)[:2000]
        if second.broke_out:
            second.stages_s = first.stages_s
            self._candidate = second
            self._note(timing=None)

    def _end_all(self) -> None:
        """Kill what runs of the submission and of the baseline."""
        for other in (*self._workers, self._baseline):
            if other is not None:
                other.end()

    def _note_limits(self, oracle: Oracle, model: torch.nn.Module) -> None:
        """How fast a call can be at all. The timing has killed the candidate: nothing of it slows the measurements down."""
        timing = self.evidence.timing
        if timing is None:
            return
        calibration = self._bench.calibration
        try:
            self._note(light=find_light(self._case, model, oracle, self._device, calibration))
        except (ProblemError, ReferenceFailedError, RuntimeError, MemoryError) as error:  # no verdict hangs on it
            log.warning("the speed of light of %s is not known: %s", self._job.problem, error)
        try:
            self._note(floor=find_floor(self._case, model, oracle, self._device, calibration, timing.runtime_ms))
        except torch.OutOfMemoryError as error:
            log.warning("too little memory to find the floor of %s: %s", self._job.problem, error)

    def _run_ablation(self, candidate: Worker, oracle: Oracle, arguments: list[Any], model: torch.nn.Module) -> None:
        """Ask a worker that leaves the submission's own kernels out; the others and their memory make room for it first.

        While it starts and loads, others may have the device.
        """
        with candidate.spending("reload"):
            self._make_room()
            worker = self._start("ablation")

        def prepare() -> None:
            with worker.entering("load"), candidate.spending("reload"):
                # One thread on the CPU too: of several, a fork, in which it calls extensions, would have but one.
                self._load(worker, self._job.code, "ModelNew", threads=1, ablate=True)
            with candidate.spending("reload"):
                self._take_device(worker)
            with worker.entering("construct"), candidate.spending("ablation"):
                self._construct(worker, arguments, model)

        def answer() -> Judgement:
            with worker.entering("rounds"), candidate.spending("ablation"):
                return answer_without(worker, self._case, oracle, self._memory, call_s)

        call_s = min(self._job.timeout_s, ABLATED_S + ABLATED_FACTOR * self.evidence.stages_s["rounds"])
        self._note(ablation=ablate(worker, prepare, answer))

    def _look_at_problem(self, candidate: Worker) -> None:
        """Whether the problem accepts answers that take no work; the timing has killed the candidate."""
        try:
            with candidate.spending("timing"):
                self._note(trivial=effortless_answers(self._case, self._bench.device))
        except Exception as error:  # whatever it is: nothing is known against the problem
            log.warning("the problem %s could not be checked: %s", self._job.problem, error, exc_info=True)

    def _run_shapes(self, candidate: Worker) -> None:
        """Ask a fresh worker in other shapes; what was not asked says nothing."""
        self._note(strict_shapes=self._job.shapes == "strict")
        try:
            with candidate.spending("shapes"):
                self._ask_in_shapes()
        except Exception as error:  # whatever it is: the verdict stands
            log.info("%s was not asked in all other shapes: %s", self._job.submission, error, exc_info=True)

    def _ask_in_shapes(self) -> None:
        """Up to the shape that the worker fails in. While it starts and loads, others may have the device."""
        self._make_room()
        worker = self._start("shapes")
        with worker.entering("load"):
            self._load(worker, self._job.code, "ModelNew", threads=self._threads)
        self._take_device(worker)
        with worker.entering("shapes"):
            until = time.monotonic() + SHAPES_S
            for shape in other_shapes(self._problem, self._case.name):
                if time.monotonic() > until or worker.failure:
                    return
                found = judge_shape(worker, shape, self._construct_shape, self._memory, self._job.timeout_s)
                self._note(shapes=(*self.evidence.shapes, found))

    def _construct_shape(self, worker: Worker, shape: Shape, model: torch.nn.Module, arguments: list[Any], seed: int) -> None:
        construct(worker, self._memory, arguments, model.state_dict(), seed, shape.case, LOAD_S)

    def _collect(self) -> None:
        """Take the workers' records into the evidence; what runs is killed first, so that its output is whole."""
        worker = self._candidate
        if worker is None:
            return
        with contextlib.suppress(SandboxUnavailable):  # a worker whose supervisor was lost is gone too, and has been told of
            worker.end()
        stdout, stderr = worker.confined.output()
        self._note(
            stage=worker.stage,
            builds=tuple(worker.builds),
            launches=worker.launches.read() if worker.launches else (),
            kernel_times=worker.kernel_times,
            rounds=tuple(self._rounds),
            exception=worker.exception,
            exit=worker.exit,
            protocol_error=self.evidence.protocol_error or worker.protocol_error,
            stdout=stdout,
            stderr=stderr,
            stages_s={name: round(seconds, 3) for name, seconds in worker.stages_s.items()},
        )

    def _diagnose(self) -> Verdict:
        verdict = diagnose(self.evidence)
        on_cpu = self._bench.device.kind == "cpu"
        if on_cpu and verdict.category is Category.NO_TOOLCHAIN and any(build.uses_cuda for build in self.evidence.builds):
            return Verdict(Category.NO_DEVICE, f"it needs a GPU; its CUDA sources were not compiled either: {verdict.message}")
        built = any(build.ok for build in self.evidence.builds)
        if self._bench.stands_in and not built and verdict.category.status is not Status.BUILD_FAILED:
            return Verdict(Category.NO_DEVICE, f"it is judged on a GPU only ({verdict.message})")
        return verdict

    def _note(self, **observed: Any) -> None:
        self.evidence = self.evidence.model_copy(update=observed)


def _found_no_memory(worker: Worker) -> bool:
    """Whether that is what it failed for."""
    return worker.exception is not None and tells_of_shortage(worker.exception.message)


def _without(folders: Sequence[str], problem: Path) -> list[str]:
    """The folders that the problem's file does not lie in: there its text could be read."""
    return [folder for folder in folders if not problem.resolve().is_relative_to(folder)]


def _no_tensor(_: torch.Tensor) -> Any:
    raise ValueError("a case's constants are plain values")


def _worker_environment(device: Device) -> dict[str, str]:
    """What a worker has before it imports PyTorch, whose OpenMP reads it then: threads that spin while they wait take the processor from
    the other worker, whose turn it is, and pass for work left behind."""
    return {"CUDA_VISIBLE_DEVICES": device.visible, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
