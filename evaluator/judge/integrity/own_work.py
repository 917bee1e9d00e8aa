"""Measures the contribution of the submission's own kernels, if the answer is wrong without them.

A wrong answer does not show that they do the problem's work: a kernel may compute one element, or the submission may return garbage if a
kernel is skipped. So a worker that skips nothing measures their share of a call's time, and the bytes that they write. On a GPU the timing
gives the share, and where nearly all of the time is library kernels', it also shows that the own ones can't have written much.
"""

from typing import Any

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.round_inputs import RoundPlan
from evaluator.judge.correctness.trial import Trial
from evaluator.judge.integrity.ablation import MEDIUM
from evaluator.judge.workers.client import WorkerClient
from evaluator.results.distributions import OWN
from evaluator.results.evidence import OWN_WRITTEN_SHARE, Evidence, OwnWorkEvidence
from evaluator.worker.nested import tensors
from evaluator.worker.protocol import Message, ProtocolError


def bound_by_time(evidence: Evidence, share: float, cache_bytes: int) -> OwnWorkEvidence | None:
    """Own work on a GPU, if a call's time outside library kernels is too short to write enough; None otherwise.

    `share` is own kernels' share of a call's device time, `cache_bytes` what a call can leave in the L2 cache. The time outside counts as
    theirs, since a graph's kernels are not timed. A kernel that was launched, but not in these calls, may be a graph's.
    """
    times, light = evidence.kernel_times, evidence.light
    own = [launch for launch in evidence.launches if launch.own]
    if times is None or not times.calls or light is None or light.bytes_per_s is None or not all(launch.timed for launch in own):
        return None
    library = sum(evidence.device_share(launch) or 0.0 for launch in evidence.launches if not launch.own)
    whole_ms = max(times.call_ms, sum(launch.device_ms for launch in evidence.launches))  # the shares are of this
    rest_s = max(1.0 - library, share) * whole_ms / times.calls / 1000
    most_bytes = int(rest_s * light.bytes_per_s * limits.WRITE_MARGIN) + cache_bytes
    found = OwnWorkEvidence(time_share=share, written_bytes=most_bytes, answer_bytes=light.written_bytes, is_bound=True)
    return found if found.is_too_little else None


def measure_own_work(worker: WorkerClient, trial: Trial, deadline_s: float, time_share: float | None = None) -> OwnWorkEvidence | None:
    """The work of own kernels, in a worker with a constructed model; None if they may have written unobserved. Their `time_share` is
    measured if unknown.

    The calls use inputs of each distribution that decides, since a kernel may matter only for some, until the work is enough. One call
    comes before, since a first call may prepare others. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
    """
    answer_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors(trial.form))
    trial.fill(trial.round_inputs.draw(RoundPlan(OWN)))
    trial.call(MEDIUM)
    found = OwnWorkEvidence(time_share=0.0, written_bytes=0, answer_bytes=answer_bytes)
    for plan in trial.round_inputs.fewest():
        draw = trial.round_inputs.draw(plan)
        if draw.left_out:
            continue
        trial.fill(draw)
        written = _written_bytes(worker, deadline_s, answer_bytes)
        if written is None:
            return None
        share = _time_share(worker, deadline_s) if time_share is None else time_share
        found = OwnWorkEvidence(
            time_share=max(share, found.time_share), written_bytes=max(written, found.written_bytes), answer_bytes=answer_bytes
        )
        if not found.is_too_little:
            break
    return found


def _written_bytes(worker: WorkerClient, deadline_s: float, answer_bytes: int) -> int | None:
    """The bytes that own kernels write in a call. Free memory is filled before it, so bytes that are not written don't count."""
    pattern = chance.choice(MEDIUM)
    worker.request("poison", deadline_s, pattern=pattern, sizes=[answer_bytes])
    enough = int(OWN_WRITTEN_SHARE * answer_bytes) + 1
    written = worker.request("watch", deadline_s, set=0, pattern=pattern, enough=enough).get("written")
    worker.request("poison", deadline_s, pattern=None, sizes=[])
    if written is not None and (not isinstance(written, int) or written < 0):
        raise ProtocolError("the bytes written must be a number of at least 0")
    return written


def _time_share(worker: WorkerClient, deadline_s: float) -> float:
    timed = [worker.request("watch", deadline_s, set=0, pattern=None, enough=0) for _ in range(limits.FASTEST_OF)]
    own_s, all_s = (min(_seconds(answer, name) for answer in timed) for name in ("own_s", "all_s"))
    return min(own_s / all_s, 1.0) if all_s else 1.0


def _seconds(answer: Message, name: str) -> float:
    value: Any = answer.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise ProtocolError(f"{name} must be a number of seconds, at least 0")
    return float(value)
