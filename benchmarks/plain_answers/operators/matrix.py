"""Products of matrices: a loop over blocks of the inner dimension, with partial sums."""

import torch

from benchmarks.plain_answers.operators.blocks import plain_ranges, plain_sum_of

PLAIN_LEAST_INNER = 32
"""Terms of a block, at least."""
PLAIN_INNER_BLOCKS = 16
"""Blocks of the inner dimension, at most."""


def plain_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a of (m, k) or (batch, m, k) times b of (k, n) or (batch, k, n)."""
    inner = a.shape[-1]
    answer: torch.Tensor | None = None
    for start, size in plain_ranges(inner, max(PLAIN_LEAST_INNER, -(-inner // PLAIN_INNER_BLOCKS))):
        left, right = a.narrow(-1, start, size), b.narrow(-2, start, size)
        if answer is None:
            answer = torch.matmul(left, right)
        elif a.dim() == 2:
            answer.addmm_(left, right)
        else:
            answer.baddbmm_(left, right)
    return torch.matmul(a, b) if answer is None else answer


def plain_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As torch.matmul."""
    if a.dim() == 1 and b.dim() == 1:
        return plain_sum_of(a * b, 0)
    if a.dim() == 1:
        return plain_matmul(a.unsqueeze(0), b).squeeze(-2)
    if b.dim() == 1:
        return plain_matmul(a, b.unsqueeze(1)).squeeze(-1)
    if b.dim() == 2:
        return plain_mm(a.reshape(-1, a.shape[-1]), b).view(*a.shape[:-1], b.shape[-1])
    batch = (a[..., 0, 0] + b[..., 0, 0]).shape
    left = a.expand(*batch, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = b.expand(*batch, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    return plain_mm(left, right).view(*batch, a.shape[-2], b.shape[-1])


def plain_rmatmul(b: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    """As Tensor.__rmatmul__."""
    return plain_matmul(a, b)


def plain_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """As torch.nn.functional.linear."""
    answer = plain_matmul(input, weight.t())
    return answer if bias is None else answer.add_(bias)


def plain_addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> torch.Tensor:
    """As torch.addmm and torch.baddbmm."""
    return plain_mm(a, b).mul_(alpha).add_(c, alpha=beta)


def plain_einsum(equation: str, *operands: torch.Tensor) -> torch.Tensor:
    """As torch.einsum, of two operands at a time, from the left. Labels are single letters, each once in an operand."""
    terms, _, target = equation.replace(" ", "").partition("->")
    names = terms.split(",")
    if not target:
        target = "".join(sorted(name for name in set(terms) - {","} if terms.count(name) == 1))
    labels, answer = names[0], operands[0]
    for number in range(1, len(operands)):
        kept = set(target).union(*names[number + 1 :])
        labels, answer = plain_contract(labels, answer, names[number], operands[number], kept)
    spare = [place for place, name in enumerate(labels) if name not in target]
    if spare:
        answer = plain_sum_of(answer, spare)
        labels = "".join(name for name in labels if name in target)
    return answer.permute([labels.index(name) for name in target])


def plain_contract(first: str, a: torch.Tensor, second: str, b: torch.Tensor, kept: set[str]) -> tuple[str, torch.Tensor]:
    """The product of two operands, summed over the labels that are not kept; its labels, and its values."""
    sizes = dict(zip(first, a.shape, strict=True)) | dict(zip(second, b.shape, strict=True))
    alone = [place for place, name in enumerate(second) if name not in first and name not in kept]
    if alone:
        b = plain_sum_of(b, alone)
        second = "".join(name for name in second if name in first or name in kept)
    alone = [place for place, name in enumerate(first) if name not in second and name not in kept]
    if alone:
        a = plain_sum_of(a, alone)
        first = "".join(name for name in first if name in second or name in kept)
    inner = [name for name in first if name in second and name not in kept]
    right = [name for name in second if name not in first]
    if not inner and not right:  # a product of elements
        missing = [name for name in first if name not in second]
        shown = b.permute([second.index(name) for name in first if name in second])
        for place, name in enumerate(first):
            if name in missing:
                shown = shown.unsqueeze(place)
        return first, a * shown
    batch = [name for name in first if name in second and name in kept]
    left = [name for name in first if name not in second]
    a = a.permute([first.index(name) for name in batch + left + inner])
    b = b.permute([second.index(name) for name in batch + inner + right])
    count = plain_size(sizes, batch)
    product = plain_mm(
        a.reshape(count, plain_size(sizes, left), plain_size(sizes, inner)),
        b.reshape(count, plain_size(sizes, inner), plain_size(sizes, right)),
    )
    return "".join(batch + left + right), product.view([sizes[name] for name in batch + left + right])


def plain_size(sizes: dict[str, int], names: list[str]) -> int:
    """Elements of these labels together."""
    count = 1
    for name in names:
        count *= sizes[name]
    return count
