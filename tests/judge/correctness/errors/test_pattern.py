"""The pattern of wrong elements."""

from collections.abc import Callable

import pytest
import torch

from evaluator.judge.correctness.errors.describe import SIDE, ErrorMapper
from evaluator.judge.correctness.errors.pattern import ErrorPattern

Mark = Callable[[torch.Tensor], object]


def columns(part: slice) -> Mark:
    return lambda wrong: wrong[:, part].fill_(True)


def tile(rows: slice, part: slice) -> Mark:
    return lambda wrong: wrong[rows, part].fill_(True)


def every(stride: int, first: int = 0) -> Mark:
    return lambda wrong: wrong.view(-1)[first::stride].fill_(True)


def but_every(stride: int, mark: Mark) -> Mark:
    """Mark elements as wrong, except each `stride`-th of them, which is right by chance."""

    def marked(wrong: torch.Tensor) -> None:
        mark(wrong)
        wrong.view(-1)[wrong.view(-1).nonzero().flatten()[::stride]] = False

    return marked


PATTERNS: dict[str, tuple[Mark, str]] = {
    "nothing": (lambda wrong: wrong, ""),
    "all": (tile(slice(None), slice(None)), "everything"),
    "one": (tile(slice(3, 4), slice(5, 6)), "isolated"),
    "the end of the memory": (every(1, 4000), "a tail of 96"),
    "a part of a row": (tile(slice(3, 4), slice(5, 9)), "one stretch of 4"),
    "two rows": (tile(slice(3, 10, 6), slice(None)), "2 whole rows: one in 6 from 3 on"),
    "every row but the first block": (tile(slice(0, 64, 3), slice(None)), "22 whole rows: one in 3 from 0 on"),
    "the last columns of each row": (columns(slice(51, None)), "13 whole columns: the last 13"),
    "the first columns": (columns(slice(0, 32)), "32 whole columns: the first 32"),
    "one column": (columns(slice(7, 8)), "1 whole columns: 7"),
    "every fourth column": (columns(slice(3, None, 4)), "16 whole columns: one in 4 from 3 on"),
    "columns but for a few elements": (but_every(60, columns(slice(51, None))), "13 whole columns: the last 13"),
    "columns but for a tenth": (but_every(10, columns(slice(51, None))), "scattered, in 13 columns: the last 13"),
    "a tile": (tile(slice(48, None), slice(16, 32)), "a tile: columns 16 to 31; rows the last 16"),
    "a stride across rows": (every(7), "a stride of 7"),
}


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("chunk", [64 * 64, 64, 1000])
def test_pattern(name: str, chunk: int) -> None:
    mark, words = PATTERNS[name]
    wrong = torch.zeros(64, 64, dtype=torch.bool)
    mark(wrong)
    layout = ErrorPattern(wrong.shape)
    for start in range(0, wrong.numel(), chunk):
        layout.add(start, wrong.view(-1)[start : start + chunk])
    assert layout.describe() == words


def test_scattered_elements_of_a_few_rows() -> None:
    wrong = torch.zeros(64, 64, dtype=torch.bool)
    wrong[10:14] = torch.rand(4, 64, generator=torch.Generator().manual_seed(1)) < 0.5
    layout = ErrorPattern(wrong.shape)
    layout.add(0, wrong.view(-1))
    assert layout.describe() == "scattered, in 4 rows: 10 to 13"


def picture(ratio: torch.Tensor) -> tuple[str, ...]:
    mapper = ErrorMapper(ratio.shape)
    for start in range(0, ratio.numel(), 999):
        mapper.add(start, ratio.reshape(-1)[start : start + 999])
    record = mapper.record()
    assert record is not None
    return record.rows


def test_a_picture_has_a_character_for_each_element_of_a_small_output() -> None:
    ratio = torch.zeros(3, 5)
    ratio[0, 1], ratio[1, 4], ratio[2, 0] = 2.0, float("inf"), 1e30
    assert picture(ratio) == (".1...", "....#", "9....")


@pytest.mark.parametrize("shape", [(1000, 3000), (5, 7, 11, 13), (100_000,), (1,), (2, 1)])
def test_a_picture_of_any_output_is_small_and_shows_what_is_wrong(shape: tuple[int, ...]) -> None:
    ratio = torch.zeros(shape)
    ratio.view(-1)[-1] = 5.0
    rows = picture(ratio)
    assert len(rows) <= SIDE and all(len(row) == len(rows[0]) <= SIDE for row in rows)
    assert "".join(rows).count("2") == 1 and rows[-1].rstrip(".")[-1] == "2"


def test_there_is_no_picture_of_a_right_output() -> None:
    mapper = ErrorMapper(torch.Size((4, 4)))
    assert mapper.record() is None
    mapper.add(0, torch.full((16,), 0.5))
    assert mapper.record() is None


@pytest.mark.parametrize("shape", [(300, 7), (5, 200), (130, 130), (3, 64, 129)])
@pytest.mark.parametrize("share", [0.005, 0.3, 1.0])
def test_whole_lines_are_described_as_other_chunks_are(shape: tuple[int, ...], share: float) -> None:
    ratio = 100 * torch.rand(shape).flatten() * (torch.rand(shape).flatten() < share)
    ratio[-1] = 5.0  # something is wrong
    line = shape[-1]
    told = []
    for chunk in (ratio.numel(), line, 3 * line, line + 1, 11):
        pattern, mapper = ErrorPattern(torch.Size(shape)), ErrorMapper(torch.Size(shape))
        for start in range(0, ratio.numel(), chunk):
            pattern.add(start, ratio[start : start + chunk] > 1)
            mapper.add(start, ratio[start : start + chunk])
        told.append((pattern.describe(), mapper.record()))
    assert all(each == told[0] for each in told)
    assert told[0][1] is not None
