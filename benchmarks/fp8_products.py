"""Errors of FP8 products and their disguises on a GPU, against the reference of `fp8_matmul`, by the judge's measure.

    python -m benchmarks.fp8_products

Blocks are multiplied by `torch._scaled_mm` (cuBLASLt's FP8 product), and scaled in float32.
"""

from typing import Any

import torch

from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.problem.catalogue import discover
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.load import load


def main() -> None:
    """Print the largest error of each, and the tolerance."""
    case = load(discover()["fp8_matmul"]).instance("full")
    x, weight, scale = case.inputs(fresh_seed(), "cuda")
    model: Any = case.model(1, "cuda")  # quantised() is the problem's own
    block = int(case.constants.get("block", case.module.block))
    reference, oracle = model(x, weight, scale), model(x.double(), weight.double(), scale.double())
    scales = scale.repeat_interleave(block, 0).repeat_interleave(block, 1)
    quantised, weights = model.quantised(x.float()), weight.float() * scales

    def show(what: str, answer: torch.Tensor) -> None:
        comparison = Comparison("", oracle.shape, torch.float16, Rules(factor=case.tolerance))
        comparison.measure(OutputPiece(0, answer.half(), reference, oracle))
        print(f"{what:50} {comparison.max_error:.2g}, allowed {comparison.tolerance:.2g}")

    show("FP8, sums of a block in the matrix units", in_fp8(quantised, weight, scale, block))
    for dtype in (torch.bfloat16, torch.float16):
        show(f"operands turned back into {dtype}", quantised.to(dtype).float() @ weights.to(dtype).float().t())
    show("activations that were not quantised", x.float() @ weights.t())


def in_fp8(quantised: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, block: int) -> torch.Tensor:
    """Products of codes, block by block: (rows, inner), (columns, inner) and one scale per block to float32 (rows, columns)."""
    one = torch.ones((), device=weight.device)
    total = torch.zeros(len(quantised), len(weight), device=weight.device)
    for number in range(weight.size(1) // block):
        part = quantised[:, number * block : (number + 1) * block]
        largest = part.abs().amax(1, keepdim=True).clamp_min(1e-20) / 448.0
        mantissa = torch.frexp(largest).mantissa
        own = largest / torch.where(mantissa == 0.5, 1.0, mantissa)
        codes, other = (part / own).to(torch.float8_e4m3fn), weight[:, number * block : (number + 1) * block].contiguous()
        product = torch._scaled_mm(codes, other.t(), one, one, out_dtype=torch.float32)
        total += product * own * scale[:, number].repeat_interleave(block)[: len(weight)]
    return total


if __name__ == "__main__":
    main()
