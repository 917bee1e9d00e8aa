"""Measures the judge's oracle, tolerance and honest boundary for the problems of KernelBench-Hard.

    python -m benchmarks.kernelbench_hard KernelBench-Hard/benchmarks/hard/problems-h100 --json FILE

The folder is not part of the project. For each workload, parameters and inputs are drawn `--draws` times, and the judge compares answers of
two kinds with the reference:

- Honest ones take another order of sums or another algorithm, or round elsewhere. None may be wrong, neither on the problem's own inputs
  nor on the changed inputs of the rounds, of which each draw has one kind.
- Near ones approximate, or ignore what is small. All must be wrong on the problem's own inputs. In a run the judge looks for roundings that
  explain a wrong answer, in up to 128 runs of the reference; here it stops after `--explain` seconds per workload, and then the answer is
  wrong and `given_up`.

The answers to one draw share one run of the reference and of the oracle. The exit code is 1 if the judge is wrong about an answer.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import silu

from evaluator.judge import limits
from evaluator.judge.correctness.check import decided, judge_values
from evaluator.judge.correctness.compare import OutputPiece
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs, RoundPlan
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.outcome import LeftOut, Outcome, Right, Wrong
from evaluator.judge.correctness.output_structure import form_of
from evaluator.judge.device.environment import apply_settings
from evaluator.problem.catalogue import discover
from evaluator.problem.input_drawing import fresh_seed, seeded
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.results.distributions import OWN
from evaluator.results.evidence import ErrorFigures
from evaluator.worker.nested import tensors

Answer = Callable[..., Any]
"""Takes the reference's module and its inputs, and returns the output."""
NOT_ALLOWED = 1e6
"""The error, in units of what is allowed, of a wrong output that is compared exactly."""


def fp8_by_blocks(model: Any, x: Tensor, blocks: int, early: bool = False) -> Any:
    """Blocks of K, added up in float32. early: rounded before they are scaled, as in the reference, and once more after it."""
    y = x.new_zeros((len(x), len(model.weight)), dtype=torch.float32)
    for one, other in zip(x.chunk(blocks, 1), model.weight.chunk(blocks, 1), strict=True):
        y += one.float() @ other.float().T
    return ((y.bfloat16() if early else y) * model.weight_scale).to(torch.bfloat16)


def kda_by_token(model: Any, *inputs: Tensor) -> Any:
    """The recurrence, token by token."""
    q, k, v, g, beta = (each.float() for each in inputs)
    state, rows = q.new_zeros(*q.shape[::2], k.shape[3], v.shape[3]), []
    for q_t, k_t, v_t, kept, beta_t in zip(*(each.unbind(1) for each in (q * model.scale, k, v, g.exp(), beta)), strict=True):
        state = state * kept[..., None]
        change = (v_t - (k_t[..., None, :] @ state)[..., 0, :]) * beta_t[..., None]
        state = state + k_t[..., None] * change[..., None, :]
        rows.append((q_t[..., None, :] @ state)[..., 0, :])
    return torch.stack(rows, 1).to(inputs[2].dtype)


def solved(a: Tensor, right: Tensor) -> Any:
    return torch.linalg.solve_triangular(a, right, upper=False, unitriangular=True)


def first_order(a: Tensor, right: Tensor) -> Tensor:
    """What the reference would compute without the loop that completes the inverse."""
    return right - a @ right


def kda_by_chunk(model: Any, *inputs: Tensor, size: int, solve: Answer = solved, operand: Answer = Tensor.contiguous) -> Any:
    """Chunks of `size` tokens. `solve` gives the x of (1 + a) x = right, with `a` below the diagonal. `operand` is applied to what is
    multiplied beside the inverse."""
    q, k, v, g, beta = (torch.unflatten(each.float(), 1, (-1, size)).movedim(3, 1) for each in inputs)
    q, g = q * model.scale, g.cumsum(3)
    later = torch.ones(size, size, dtype=torch.bool, device=q.device).triu(1)[..., None]
    decay = (g[..., :, None, :] - g[..., None, :, :]).masked_fill(later, -math.inf).exp()
    qk, kk = (torch.einsum("bhnck,bhnik,bhncik->bhnci", each, k, decay) for each in (q, k))
    del decay
    changes = solve(kk.tril(-1) * beta[..., None], torch.cat([g.exp() * k, v], -1) * beta[..., None])
    w, u = operand(changes[..., : k.shape[-1]]), changes[..., k.shape[-1] :]
    last = g[..., -1:, :]
    reads, writes, qk, kept = operand(q * g.exp()), operand(k * (last - g).exp()), operand(qk), last.exp().mT
    state, rows = q.new_zeros(*q.shape[:2], k.shape[-1], v.shape[-1]), []
    for n in range(q.shape[2]):
        known = operand(state)
        change = operand(u[:, :, n] - w[:, :, n] @ known)
        rows.append(reads[:, :, n] @ known + qk[:, :, n] @ change)
        state = state * kept[:, :, n] + writes[:, :, n].mT @ change
    return torch.stack(rows, 2).movedim(1, 3).flatten(1, 2).to(inputs[2].dtype)


def in_bfloat16(values: Tensor) -> Tensor:
    """As tensor cores take them."""
    return values.bfloat16().float()


def paged_scores(model: Any, query: Tensor, kv: Tensor, pages: Tensor, lengths: Tensor, first: int = 0) -> tuple[Tensor, Tensor]:
    """The scores of these pages' keys by KV head, and their values. `first` is the position of the first key."""
    k, v = kv[pages.long()].flatten(1, 2).float().chunk(2, -1)
    q = torch.unflatten(query.float(), 1, (k.shape[2], -1))
    behind = torch.arange(first, first + k.shape[1], device=k.device) >= lengths[:, None, None, None]
    return (torch.einsum("bhgd,blhd->bhgl", q, k) * model.scale).masked_fill(behind, -math.inf), v


def paged_at_once(model: Any, query: Tensor, kv: Tensor, pages: Tensor, lengths: Tensor) -> Tensor:
    """All keys at once, with weights that are rounded before they are divided by their sum."""
    scores, v = paged_scores(model, query, kv, pages, lengths)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    rounded = weights.to(query.dtype).float()
    return (torch.einsum("bhgl,blhd->bhgd", rounded, v) / weights.sum(-1, keepdim=True)).flatten(1, 2).to(query.dtype)


def paged_online(model: Any, query: Tensor, kv: Tensor, pages: Tensor, lengths: Tensor, reach: float = math.inf) -> Tensor:
    """An online softmax over blocks of two pages. It skips keys whose score is below the running maximum by more than `reach`."""
    largest, total, output = (torch.zeros((), device=query.device) + start for start in (-math.inf, 0.0, 0.0))
    for number, block in enumerate(torch.split(pages, 2, 1)):
        scores, v = paged_scores(model, query, kv, block, lengths, 2 * number * kv.shape[1])
        fade, largest = largest, scores.amax(-1, keepdim=True).maximum(largest)
        fade = (fade - largest).exp()
        weights = (scores - largest).exp().masked_fill(scores < largest - reach, 0.0)
        total = total * fade + weights.sum(-1, keepdim=True)
        output = output * fade + torch.einsum("bhgl,blhd->bhgd", weights, v)
    return (output / total).flatten(1, 2).to(query.dtype)


def topk_sorted(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    values, order = x.sort(dim=1, descending=True)
    return values[:, : model.k].clone(), order[:, : model.k].clone()


def topk_by_blocks(model: Any, x: Tensor, size: int = 128) -> tuple[Tensor, Tensor]:
    """The largest of each block, and the largest of those."""
    best = [(part.topk(min(model.k, part.shape[1])), number * size) for number, part in enumerate(torch.split(x, size, 1))]
    order = torch.cat([indices + start for (_, indices), start in best], 1)
    values, chosen = torch.cat([values for (values, _), _ in best], 1).topk(model.k)
    return values, order.gather(1, chosen)


def by_expert(offsets: Tensor) -> Iterator[tuple[int, slice]]:
    return ((number, slice(*ends)) for number, ends in enumerate(pairwise(offsets.tolist())))


def moe_joined(model: Any, x: Tensor, offsets: Tensor) -> Tensor:
    """Gate and up as one product in float32, rounded once at the end."""
    joined = ((x[rows].float() @ torch.cat([model.W_gate[e], model.W_up[e]], 1).float()).chunk(2, 1) for e, rows in by_expert(offsets))
    return torch.cat([(silu(gate) * up).bfloat16() for gate, up in joined])


def moe_by_rows(model: Any, x: Tensor, offsets: Tensor) -> Tensor:
    """Chunks of rows. The products are rounded, as in the reference, but not the activation."""
    parts = ((part, model.W_gate[e], model.W_up[e]) for e, rows in by_expert(offsets) for part in torch.split(x[rows], 128))
    return torch.cat([(silu((part @ gate).float()) * (part @ up).float()).bfloat16() for part, gate, up in parts])


def w4_codes(model: Any) -> Tensor:
    """The weights' numbers from 0 to 15, (K, N)."""
    return torch.stack([model.w_q & 15, model.w_q >> 4], 1).flatten(0, 1).float()


def w4_in_halves(model: Any, x: Tensor) -> Any:
    """Weights in float32, and two halves of K."""
    zeros, scales = (each.float().repeat_interleave(model.group_size, 0) for each in (model.zeros, model.scales))
    w, half = (w4_codes(model) - zeros) * scales, x.shape[1] // 2
    return (x[:, :half].float() @ w[:half] + x[:, half:].float() @ w[half:]).to(x.dtype)


def w4_by_group(model: Any, x: Tensor) -> Tensor:
    """Zero points and scales are applied to the product of each group."""
    y = x.new_zeros((len(x), model.w_q.shape[1]), dtype=torch.float32)
    groups = zip(torch.split(x.float(), model.group_size, 1), torch.split(w4_codes(model), model.group_size), strict=True)
    for (part, codes), zero, scale in zip(groups, model.zeros.float(), model.scales.float(), strict=True):
        y += (part @ codes - part.sum(1, keepdim=True) * zero) * scale
    return y.to(x.dtype)


def without_small(answer: Answer, least: float) -> Answer:
    """An answer for which smaller numbers of the first input are zero."""

    def other(model: Any, x: Tensor, *others: Tensor) -> Any:
        return answer(model, torch.where(x.float().abs() < least, 0.0, x.float()).to(x.dtype), *others)

    return other


HONEST: Mapping[str, Mapping[str, Answer]] = {
    "01_fp8_gemm": {"halves": partial(fp8_by_blocks, blocks=2), "blocks": partial(fp8_by_blocks, blocks=32, early=True)},
    "02_kda_cutlass": {
        "tokens": kda_by_token,
        "chunks of 16, solved": partial(kda_by_chunk, size=16),
        "operands in bfloat16": partial(kda_by_chunk, size=64, operand=in_bfloat16),
    },
    "03_paged_attention": {"online": paged_online, "at once": paged_at_once},
    "05_topk_bitonic": {"sorted": topk_sorted, "blocks": topk_by_blocks},
    "06_sonic_moe_swiglu": {"joined": moe_joined, "rows": moe_by_rows},
    "07_w4a16_gemm": {"halves": w4_in_halves, "groups": w4_by_group},
}
"""By the names of the problems' folders."""
NEAR: Mapping[str, Mapping[str, Answer]] = {
    "01_fp8_gemm": {"x below 0.35 is zero": without_small(partial(fp8_by_blocks, blocks=1), 0.35)},
    "02_kda_cutlass": {"first-order inverse": partial(kda_by_chunk, size=64, solve=first_order)},
    "03_paged_attention": {"skips scores 0.04 below the maximum": partial(paged_online, reach=0.04)},
    "05_topk_bitonic": {"x below 3.4 is zero": without_small(topk_sorted, 3.4)},
    "06_sonic_moe_swiglu": {"x below 0.02 is zero": without_small(moe_by_rows, 0.02)},
    "07_w4a16_gemm": {"x below 0.2 is zero": without_small(w4_in_halves, 0.2)},
}


class OracleOfOneDraw(Oracle):
    """An oracle that runs once per draw, and notes how."""

    def __init__(self, model: torch.nn.Module, rows_independent: bool) -> None:
        super().__init__(model, rows_independent)
        self.kept: dict[bool, list[tuple[int, OutputPiece]]] = {}
        """The pieces of this draw; to be cleared before the next."""
        self.kind = ""
        self.random_runs, self.random_s, self.most_random_s, self.given_up = 0, 0.0, math.inf, 0
        """Runs that round at random, how long they took, how long they may take, and how often that was not enough."""

    def pieces(
        self, inputs: Sequence[Any], candidate: Sequence[Tensor], reference: Sequence[Tensor] | None = None, *, by_reference: bool = False
    ) -> Iterator[tuple[int, OutputPiece]]:
        """The pieces that are kept, with this candidate's values."""
        if reference is not None:
            yield from super().pieces(inputs, candidate, reference)
            return
        if by_reference not in self.kept:
            made = super().pieces(inputs, candidate, by_reference=by_reference)
            self.kept[by_reference] = [(number, replace(piece, candidate=piece.reference)) for number, piece in made]
        if not by_reference:
            types = {str(piece.rounded_to).removeprefix("torch.") for _, piece in self.kept[False] if piece.rounded_to}
            self.kind = "float64" if self.dtype is torch.float64 else "own types"
            self.kind += "".join(f", rounds to {each}" for each in sorted(types)) + ", slices" * self.is_sliced(inputs, candidate)
        for number, piece in self.kept[by_reference]:
            yield number, replace(piece, candidate=candidate[number][piece.start : piece.start + len(piece.oracle)])

    def possible(
        self, inputs: Sequence[Any], outputs: Sequence[Tensor], rows: Tensor, generator: torch.Generator
    ) -> tuple[list[Tensor], Tensor | None]:
        """As the judge's. Raises ReferenceFailedError after most_random_s, too: then the judge calls the answer wrong."""
        start = time.monotonic()
        if self.random_s >= self.most_random_s:
            self.given_up += 1
            raise ReferenceFailedError("given up")
        try:
            return super().possible(inputs, outputs, rows, generator)
        finally:
            self.random_runs, self.random_s = self.random_runs + 1, self.random_s + time.monotonic() - start


@dataclass
class Tally:
    """The verdicts on answers of one kind."""

    right: int = 0
    of: int = 0
    left_out: int = 0
    """Draws that decided nothing."""
    excused: int = 0
    """Right ones beyond the tolerance, because rounding explains them."""
    given_up: int = 0
    """Wrong ones for which no explanation was looked for to the end."""
    errors: dict[str, list[float]] = field(default_factory=dict)
    """The largest error of each answer, draw by draw, in units of what is allowed."""
    messages: dict[str, str] = field(default_factory=dict)
    """Why an answer was wrong the last time."""

    def add(self, name: str, outcome: Outcome) -> None:
        if isinstance(outcome, LeftOut):
            self.left_out += 1
            return
        is_right = isinstance(outcome, Right)
        self.right, self.of = self.right + is_right, self.of + 1
        self.excused += is_right and any(each.max_error == each.tolerance > 0 for each in outcome.figures)
        self.errors.setdefault(name, []).append(max(map(share_of_allowed, outcome.figures)))
        if isinstance(outcome, Wrong):
            self.messages[name] = f"{name}: {outcome.message}"

    @property
    def error_range(self) -> tuple[float, float]:
        errors = [*chain(*self.errors.values())] or [0.0]
        return min(errors), max(errors)


def share_of_allowed(figures: ErrorFigures) -> float:
    if not figures.tolerance:
        return NOT_ALLOWED * bool(figures.max_error)
    gross = math.inf if figures.gross_error is None else figures.gross_error / limits.GROSS_ERROR
    return min(figures.max_error / figures.tolerance, gross, NOT_ALLOWED)


@dataclass
class Report:
    """What was measured for one workload."""

    problem: str
    case: str
    oracle: str = ""
    reference_error: float = 0.0
    """The reference's largest error, in units of the tolerance."""
    tolerances: list[float] = field(default_factory=list)
    """On the problem's own inputs, answer by answer."""
    honest: Tally = field(default_factory=Tally)
    changed: Tally = field(default_factory=Tally)
    """The honest ones on changed inputs."""
    near: Tally = field(default_factory=Tally)
    random_runs: int = 0
    random_s: float = 0.0
    """Runs of the reference that look for an explanation by rounding."""
    duration_s: float = 0.0
    error: str = ""
    """The exception that ended it."""

    @property
    def is_fair(self) -> bool:
        fails = [self.honest.of - self.honest.right, self.changed.of - self.changed.right, self.near.right, self.near.left_out]
        return not any(fails) and not self.error

    def note(self, outcome: Outcome) -> None:
        for figures, known in zip(outcome.figures, outcome.known, strict=True):
            if known.tolerance:
                self.reference_error = max(self.reference_error, (figures.reference_error or 0.0) / known.tolerance)
                self.tolerances.append(known.tolerance)

    def row(self) -> list[str]:
        """Its row of the table."""
        tolerance = "–".join(dict.fromkeys(f"{limit(self.tolerances, default=0.0):.2g}" for limit in (min, max)))
        facts = [self.problem, self.case, self.oracle or self.error, f"{self.reference_error:.2f}", tolerance]
        right = ([f"{each.right}/{each.of}", f"{each.error_range[1]:.2f}"] for each in (self.honest, self.changed))
        near = [f"{self.near.of - self.near.right}/{self.near.of}", f"{self.near.error_range[0]:.3g}", str(self.near.given_up)]
        return [*facts, *chain(*right), *near, f"{self.random_runs} in {self.random_s:.0f} s", f"{self.duration_s:.0f}"]


COLUMNS = (
    *("problem", "case", "oracle", "reference's error", "tolerance", "honest right", "largest error", "on changed inputs"),
    *("largest error", "near wrong", "least error", "given up", "random runs", "s"),
)


def measure(report: Report, case: ProblemCase, device: torch.device, number: int, explain_s: float) -> None:
    """Judge all answers for the draw of this number."""
    arguments = case.init_inputs(fresh_seed())
    with seeded(fresh_seed(), device):  # on the device itself: gigabytes of parameters take a CPU 10 s
        model = case.module.Model(*arguments).to(device)
    case.procedure_of(model).prepare(model)
    oracle = OracleOfOneDraw(model, case.rows_independent)
    rounds = RoundInputs(case, device, oracle)
    judged = partial(verdict, case, oracle, form_of(rounds.expected))
    rounds.forget()
    draw = rounds.draw(RoundPlan(OWN))
    for name, answer in HONEST[report.problem].items():
        report.honest.add(name, outcome := judged(draw, answer))
        report.note(outcome)
    oracle.most_random_s = oracle.random_s + explain_s - report.random_s
    for name, answer in NEAR[report.problem].items():
        report.near.add(name, judged(draw, answer))
    oracle.most_random_s = math.inf
    oracle.kept.clear()
    if others := sorted({plan.distribution for plan in rounds.plans} - {OWN}):
        draw = rounds.draw(RoundPlan(others[number % len(others)]))
        for name, answer in HONEST[report.problem].items() if not draw.left_out else ():
            report.changed.add(name, judged(draw, answer))
        report.changed.left_out += bool(draw.left_out)
    report.oracle, report.near.given_up = oracle.kind, report.near.given_up + oracle.given_up
    report.random_runs, report.random_s = report.random_runs + oracle.random_runs, report.random_s + oracle.random_s


def verdict(case: ProblemCase, oracle: Oracle, form: Any, draw: Draw, answer: Answer) -> Outcome:
    """The judge's, as in rounds."""
    with torch.no_grad():
        values = tensors(answer(oracle.model, *draw.arguments))
    if [(each.shape, each.dtype) for each in values] != [(each.shape, each.dtype) for each in tensors(form)]:
        raise ValueError("the answer's form is not the reference's")
    outcome = judge_values(case, oracle, draw.arguments, values, form, rule=draw.rule, brief=True)
    return decided(case, oracle, outcome, values, draw, asks_rounding=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernelbench_hard", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problems", type=Path, help="the folder that holds the problems' folders")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--case", nargs="+", default=[""], metavar="NAME", help="only workloads with one of these in PROBLEM/WORKLOAD")
    parser.add_argument("--explain", type=float, default=10.0, metavar="SECONDS", help="for wrong answers, per workload; inf: as in a run")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    apply_settings()
    known, reports = discover([options.problems]), []
    for problem in (load(known[name]) for name in HONEST if name in known):
        for case in (each for each in problem.workloads() if any(name in f"{problem.name}/{each.name}" for name in options.case)):
            report, start = Report(problem.name, case.name), time.monotonic()
            try:
                for number in range(options.draws):
                    measure(report, case, torch.device(options.device), number, options.explain)
            except Exception as error:  # noqa: BLE001 - it is reported with the workload
                report.error = f"{type(error).__name__}: {error}"
            report.duration_s = round(time.monotonic() - start, 1)
            reports.append(report)
            said = [report.error, *report.honest.messages.values(), *report.changed.messages.values()]
            print("  ".join([*report.row(), *filter(None, said)]), file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps([asdict(each) for each in reports], indent=1) + "\n", encoding="utf-8")
    table = Table(*COLUMNS, title="Errors are in units of what is allowed")
    for report in reports:
        table.add_row(*report.row())
    Console(width=None if sys.stdout.isatty() else 220).print(table)
    return 0 if reports and all(report.is_fair for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
