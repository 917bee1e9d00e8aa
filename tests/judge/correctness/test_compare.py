"""Errors of an output against the oracle, checked by figures computed by hand."""

import logging
import math

import pytest
import torch

from evaluator.judge.correctness import output_scale
from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.judge.correctness.errors.describe import ErrorMapper
from evaluator.judge.correctness.errors.pattern import ErrorPattern
from evaluator.judge.correctness.errors.similarity import Similarity
from evaluator.problem.declaration import PrecisionName
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures

F64 = torch.float64


def compared(
    candidate: torch.Tensor,
    oracle: torch.Tensor,
    reference: torch.Tensor | None = None,
    *,
    rows: bool = False,
    pieces: int = 1,
    factor: float | dict[PrecisionName, float] = 1.0,
    rounded_to: torch.dtype | None = None,
) -> tuple[Category | None, ErrorFigures]:
    """The category (None where it passed) and the figures; `pieces` splits an output that has row scales."""
    reference = oracle.to(candidate.dtype) if reference is None else reference
    comparison = Comparison("", candidate.shape, candidate.dtype, Rules(rows, factor))
    step = max(-(-len(candidate) // pieces), 1) if candidate.dim() else 1
    parts = (
        [
            OutputPiece(start, *(tensor[start : start + step] for tensor in (candidate, reference, oracle)), rounded_to=rounded_to)
            for start in range(0, len(candidate), step)
        ]
        if pieces > 1
        else [OutputPiece(0, candidate, reference, oracle, rounded_to=rounded_to)]
    )
    for part in parts:
        comparison.measure(part)
    if comparison.passed:
        return None, comparison.figures()
    for part in parts:
        comparison.locate(part)
    return comparison.category, comparison.figures()


@pytest.mark.parametrize(
    ("dtype", "rounded_to", "factors", "expected"),
    [
        (torch.bfloat16, None, {"bfloat16": 3.0, "float32": 9.0}, 3.0),
        (torch.float32, None, {"bfloat16": 3.0, "float32": 9.0}, 9.0),
        (torch.float32, torch.bfloat16, {"bfloat16": 3.0, "float32": 9.0}, 3.0),
        (torch.complex64, None, {"float32": 9.0}, 9.0),
        (torch.float16, None, {"bfloat16": 3.0}, 1.0),
        (torch.float16, None, 4.0, 4.0),
    ],
)
def test_a_factor_on_the_tolerance_is_of_the_type_that_counts(
    dtype: torch.dtype, rounded_to: torch.dtype | None, factors: float | dict[PrecisionName, float], expected: float
) -> None:
    right = torch.ones(64, dtype=dtype)
    values = right.to(torch.complex128 if dtype.is_complex else F64)
    plain, widened = (compared(right, values, factor=factor, rounded_to=rounded_to)[1].tolerance for factor in (1.0, factors))
    assert widened == pytest.approx(expected * plain) and plain > 0


def softmax_like(rows: int = 3, columns: int = 250_000) -> torch.Tensor:
    """Rows whose elements are about 4e-6."""
    generator = torch.Generator().manual_seed(0)
    return torch.softmax(torch.rand(rows, columns, dtype=F64, generator=generator), dim=1)


def test_error_figures_by_hand() -> None:
    # RMS of (3, 4, 0, 0) is 2.5; 4.5 for 4 errs by 0.5 / (4 + 2.5) = 1/13, 0.5 for 0 by 0.5 / 2.5 = 1/5.
    category, figures = compared(torch.tensor([3.0, 4.5, 0.5, 0.0]), torch.tensor([3.0, 4.0, 0.0, 0.0], dtype=F64))
    assert category is Category.WRONG_VALUES
    assert figures.max_error == pytest.approx(0.2)
    assert figures.rms_error == pytest.approx(math.sqrt(0.5) / 5)
    assert (figures.elements, figures.wrong, figures.tolerance) == (4, 2, 4e-5)
    assert (figures.first_index, figures.first_value, figures.first_expected) == ((1,), 4.5, 4.0)
    assert (figures.reference_error, figures.nonfinite_mismatch) == (0.0, 0)


def test_the_references_own_error_widens_the_tolerance() -> None:
    oracle = torch.ones(4, dtype=F64)
    reference = torch.tensor([1.0, 1.0, 1.0, 1.002])
    category, figures = compared(torch.full((4,), 1.01), oracle, reference)
    assert category is None
    assert figures.reference_error == pytest.approx(1e-3, rel=1e-3)
    assert figures.tolerance == pytest.approx(8e-3, rel=1e-3)
    assert compared(torch.full((4,), 1.02), oracle, reference)[0] is Category.PRECISION_LOSS


def test_one_wrong_element_is_lost_precision_only_beside_an_inaccurate_reference() -> None:
    oracle = torch.randn(64, 1000, dtype=F64)
    oracle[7, 9] = 0.0
    for reference_error, expected in ((0.06, Category.PRECISION_LOSS), (0.03, Category.WRONG_VALUES)):
        reference, candidate = oracle.float(), oracle.float()
        reference[3, 5] += reference_error * (oracle[3, 5].abs() + 1)
        candidate[7, 9] += 2.0
        category, figures = compared(candidate, oracle, reference)
        assert (category, figures.wrong) == (expected, 1)
        assert figures.rms_error < 0.01 < figures.max_error
    assert compared(oracle.float() + torch.randn(64, 1000), oracle, reference)[0] is Category.WRONG_VALUES


@pytest.mark.parametrize(
    ("place", "factor", "expected", "first"),
    [
        (slice(62_345, 62_346), 1.01, Category.PRECISION_LOSS, (2, 12_345)),
        (slice(62_345, 62_346), 0.0, Category.WRONG_VALUES, (2, 12_345)),
        (slice(99_997, None), 0.0, Category.WRONG_VALUES, (3, 24_997)),
    ],
    ids=["one off", "one unwritten", "an unwritten tail"],
)
def test_a_few_elements_of_many_are_found(place: slice, factor: float, expected: Category, first: tuple[int, int]) -> None:
    oracle = softmax_like(4, 25_000)
    candidate = oracle.float()
    wrong = candidate.view(-1)[place].mul_(factor)
    category, figures = compared(candidate, oracle, rows=True)
    assert (category, figures.wrong, figures.elements, figures.first_index) == (expected, len(wrong), 100_000, first)


@pytest.mark.parametrize("factor", [1.017, 0.99, 1.0002, 1 + 1e-9])
@pytest.mark.parametrize("rows", [False, True])
def test_a_constant_factor_is_no_lost_precision(factor: float, rows: bool) -> None:
    dtype = torch.float32 if abs(factor - 1) > 1e-5 else F64
    for oracle in (torch.randn(300, 64, dtype=F64), softmax_like(3, 2500), 10 + torch.rand(300, 64, dtype=F64)):
        category, figures = compared((oracle * factor).to(dtype), oracle, rows=rows, pieces=3 if rows else 1)
        assert category is Category.WRONG_VALUES
        words, number, *_ = figures.likeness.removeprefix("each ").split()
        assert words == "is" and float(number) - 1 == pytest.approx(factor - 1, rel=2e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_no_constant_factor(dtype: torch.dtype) -> None:
    for oracle in (torch.randn(300, 64, dtype=F64), softmax_like(3, 2500), 1000 + torch.rand(300, 64, dtype=F64)):
        rounded = oracle.to(dtype)
        toward_zero = torch.where(rounded.double().abs() > oracle.abs(), torch.nextafter(rounded, torch.zeros((), dtype=dtype)), rounded)
        for answer in (rounded, toward_zero):
            category, figures = compared(answer.float(), oracle)
            assert category is Category.PRECISION_LOSS and "times" not in figures.likeness


def test_a_factor_of_a_few_or_of_equal_elements_may_be_lost_precision() -> None:
    for oracle in (torch.rand(63, dtype=F64) + 1, torch.full((640,), 3.0, dtype=F64)):
        assert compared((oracle * 1.001).float(), oracle)[0] is Category.PRECISION_LOSS


def test_some_elements_that_are_a_constant_factor_off_are_told_but_decide_nothing() -> None:
    oracle = torch.rand(100, 64, dtype=F64) + 1
    answer = oracle.float()
    answer[50:] *= 1.005
    category, figures = compared(answer, oracle)
    assert category is Category.PRECISION_LOSS and figures.likeness == ""
    answer[50:] *= 2
    category, figures = compared(answer, oracle)
    assert category is Category.WRONG_VALUES and figures.likeness == "each is 2.01 times what is expected"


def test_float32_arithmetic_in_another_order_passes() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(4, 100_000, generator=generator)
    oracle = x.double().softmax(1)
    exponents = (x - x.amax(1, keepdim=True)).exp()
    total = torch.zeros(4)
    for part in torch.split(exponents, 1000, dim=1):
        total += part.sum(1)
    category, figures = compared(exponents / total[:, None], oracle, x.softmax(1), rows=True)
    assert category is None
    assert 0 < figures.max_error < figures.tolerance


@pytest.mark.parametrize(("dtype", "base"), [(torch.float16, 2e-3), (torch.bfloat16, 1.6e-2), (torch.float32, 4e-5), (F64, 1e-11)])
def test_each_dtypes_own_rounding_passes_and_the_next_narrower_does_not(dtype: torch.dtype, base: float) -> None:
    oracle = torch.randn(500, 64, dtype=F64, generator=torch.Generator().manual_seed(2))
    category, figures = compared(oracle.to(dtype), oracle, rows=True)
    assert category is None
    assert figures.tolerance >= base
    assert compared((oracle * (1 + 20 * base)).to(dtype), oracle, rows=True)[0] is not None


def test_float8_has_a_tolerance_of_its_own() -> None:
    oracle = torch.randn(64, 64, dtype=F64)
    assert compared(oracle.to(torch.float8_e4m3fn), oracle)[0] is None
    assert compared((-oracle).to(torch.float8_e4m3fn), oracle)[0] is Category.WRONG_VALUES


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2**53 + 1, 2**53), (2**63 - 1, 2**63 - 2), (-(2**63), 0), (2**63 - 1, -(2**63)), (1, 0), (-1, 0), (True, False), (False, True)],
)
def test_integers_and_booleans_are_compared_exactly(value: int, expected: int) -> None:
    oracle = torch.tensor([expected, expected])
    assert compared(oracle.clone(), oracle)[0] is None
    category, figures = compared(torch.tensor([expected, value]), oracle)
    assert (category, figures.wrong, figures.first_index, figures.tolerance) == (Category.WRONG_VALUES, 1, (1,), 0.0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_narrow_integers_do_not_wrap(dtype: torch.dtype) -> None:
    oracle = torch.tensor([0, 100], dtype=dtype)
    assert compared(torch.tensor([torch.iinfo(dtype).max, 100], dtype=dtype), oracle)[1].max_error == torch.iinfo(dtype).max


def hinging(elements: int, slips: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An integer oracle, and a reference that is one too low in every so many-th element."""
    oracle = torch.arange(elements) % 50
    reference = oracle.clone()
    reference[: slips * 7 : 7] -= 1
    return oracle, reference


@pytest.mark.parametrize("elements", [200, 20_000])
def test_where_the_references_own_answer_hangs_on_rounding_either_is_right(elements: int) -> None:
    oracle, reference = hinging(elements, 10)
    assert compared(reference.clone(), oracle, reference)[0] is None
    assert compared(oracle.clone(), oracle, reference)[0] is None
    both = torch.where(torch.arange(elements) < 35, oracle, reference)
    category, figures = compared(both, oracle, reference)
    assert (category, figures.max_error, figures.reference_error) == (None, 0.0, 1.0)
    flags = reference != oracle
    assert compared(flags, torch.zeros(elements, dtype=torch.bool), flags)[0] is None


def test_slips_of_a_reference_that_slips_often_excuse_no_others() -> None:
    oracle, reference = hinging(200, 10)
    elsewhere = reference.clone()
    elsewhere[-1] += 1
    category, figures = compared(elsewhere, oracle, reference)
    assert (category, figures.wrong, figures.first_index) == (Category.WRONG_VALUES, 1, (199,))
    assert compared(torch.zeros(200, dtype=torch.int64), oracle, reference)[0] is Category.WRONG_VALUES


@pytest.mark.parametrize(("elements", "slips", "informative"), [(20_000, 0, True), (20_000, 20, True), (20_000, 21, False), (9, 1, False)])
def test_a_reference_that_slips_often_says_nothing_of_others(elements: int, slips: int, informative: bool) -> None:
    oracle, reference = hinging(elements, slips)
    comparison = Comparison("", oracle.shape, oracle.dtype, Rules())
    comparison.measure(OutputPiece(0, oracle, reference, oracle))
    assert comparison.informative is informative


def test_complex_outputs_are_compared_part_by_part() -> None:
    oracle = torch.complex(torch.randn(20, 16, dtype=F64), 1 + torch.rand(20, 16, dtype=F64))
    right = oracle.to(torch.complex64)
    for rows in (False, True):
        assert compared(right, oracle, rows=rows)[0] is None
        category, figures = compared(right.conj().resolve_conj(), oracle, rows=rows)
        assert category is Category.WRONG_VALUES
        assert (figures.wrong, figures.elements, figures.first_index) == (320, 640, (0, 0, 1))


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_equal_specials_pass(special: float) -> None:
    oracle = torch.tensor([1.0, special, 2.0], dtype=F64)
    assert compared(oracle.float(), oracle)[0] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (1.0, math.inf), (math.inf, -math.inf), (math.nan, math.inf), (math.inf, math.nan)],
)
def test_specials_that_differ_are_told(value: float, expected: float) -> None:
    category, figures = compared(torch.tensor([1.0, 1.0, value]), torch.tensor([1.0, 1.0, expected], dtype=F64))
    assert category is Category.NAN_OR_INF
    assert (figures.nonfinite_mismatch, figures.wrong, figures.first_index) == (1, 1, (2,))
    assert ErrorFigures.model_validate_json(figures.model_dump_json()).max_error == math.inf


def test_an_output_that_is_nowhere_finite_does_not_hide_in_the_tolerance() -> None:
    oracle = torch.randn(8, 32, dtype=F64)
    category, figures = compared(torch.full((8, 32), math.nan), oracle, torch.full((8, 32), math.nan), rows=True)
    assert (category, figures.nonfinite_mismatch, figures.reference_error) == (Category.NAN_OR_INF, 256, 0.0)


def test_finite_values_where_the_answer_is_all_zero_are_wrong_and_not_infinite() -> None:
    oracle = torch.zeros(4, dtype=F64)
    assert compared(torch.zeros(4), oracle)[0] is None
    category, figures = compared(torch.tensor([0.0, 0.5, 0.0, 0.0]), oracle)
    assert (category, figures.wrong, figures.nonfinite_mismatch) == (Category.WRONG_VALUES, 1, 0)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (4, 0), (0, 32)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
def test_empty_tensors_are_right(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    empty = torch.empty(shape, dtype=dtype)
    category, figures = compared(empty, empty, rows=True)
    assert (category, figures.elements) == (None, 0)


def test_a_tensor_without_dimensions_is_judged_on_itself() -> None:
    oracle = torch.tensor(5.0, dtype=F64)
    assert compared(torch.tensor(5.0), oracle, rows=True)[0] is None
    category, figures = compared(torch.tensor(6.0), oracle, rows=True)
    assert (category, figures.first_index) == (Category.WRONG_VALUES, ())
    assert figures.max_error == pytest.approx(0.1)


@pytest.mark.parametrize(("columns", "rows", "wrong"), [(16, False, 0), (16, True, 16), (15, True, 0)], ids=["whole", "rows", "too short"])
def test_a_small_row_beside_a_large_one_is_judged_on_its_own_scale_where_rows_have_one(columns: int, rows: bool, wrong: int) -> None:
    oracle = torch.ones(2, columns, dtype=F64)
    oracle[1] *= 1e-6
    candidate = oracle.float()
    candidate[1] = 0
    category, figures = compared(candidate, oracle, rows=rows)
    assert (category, figures.wrong) == (Category.WRONG_VALUES if wrong else None, wrong)
    if wrong:
        assert figures.first_index == (1, 0) and figures.max_error == pytest.approx(0.5)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
@pytest.mark.parametrize("chunk", [1, 48, 100])
def test_chunks_change_no_figure(monkeypatch: pytest.MonkeyPatch, rows: bool, dtype: torch.dtype, chunk: int) -> None:
    generator = torch.Generator().manual_seed(3)
    oracle = torch.randn(13, 24, dtype=torch.complex128 if dtype.is_complex else F64, generator=generator) * 100
    oracle = oracle.long() if dtype is torch.int64 else oracle
    candidate = oracle.to(dtype, copy=True)
    candidate[4, 5] += 3
    candidate[11, 2] += 1
    whole = compared(candidate, oracle, rows=rows)
    monkeypatch.setattr(output_scale, "CPU_CHUNK_ELEMENTS", chunk)
    in_chunks = compared(candidate, oracle, rows=rows, pieces=3 if rows else 1)
    assert in_chunks[0] is whole[0] is Category.WRONG_VALUES
    assert in_chunks[1].max_error == pytest.approx(whole[1].max_error, rel=1e-12)
    assert in_chunks[1].rms_error == pytest.approx(whole[1].rms_error)
    sums = {"rms_error": 0.0, "max_error": 0.0}
    assert in_chunks[1].model_copy(update=sums) == whole[1].model_copy(update=sums)
    assert whole[1].first_index is not None and whole[1].first_index[:2] == (4, 5)


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("value", [1e200, 1e308, math.inf, math.nan])
def test_a_wrong_answer_however_large_is_a_wrong_answer(value: float, pieces: int) -> None:
    oracle = torch.rand(64, 256, dtype=F64, generator=torch.Generator().manual_seed(2)) + 1e-120
    for candidate in (torch.full_like(oracle, value), torch.where(torch.arange(256) == 5, value, oracle), oracle * value):
        category, figures = compared(candidate, oracle, rows=True, pieces=pieces)
        assert category is (Category.WRONG_VALUES if math.isfinite(value) else Category.NAN_OR_INF)
        assert figures.wrong and figures.pattern and figures.error_map is not None


def test_a_large_answer_to_a_tiny_one_is_told_apart() -> None:
    oracle = torch.rand(64, 256, dtype=F64, generator=torch.Generator().manual_seed(3)) * 1e-170
    category, figures = compared(torch.full((64, 256), 3e38), oracle, oracle.float(), rows=True)
    assert (category, figures.likeness) == (Category.WRONG_VALUES, "all of them are 3e+38")


def test_one_number_for_all_is_called_that_and_not_narrow() -> None:
    oracle = torch.full((1000,), 0.99999999, dtype=F64)
    oracle[7] = 0.9999
    category, figures = compared(torch.ones(1000), oracle, oracle.float())
    assert (category, figures.likeness) == (Category.PRECISION_LOSS, "every value of the output is 1")


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ((ErrorPattern, "add"), ValueError("no")),
        ((ErrorPattern, "describe"), OverflowError("no")),
        ((ErrorMapper, "add"), torch.OutOfMemoryError("CUDA out of memory")),
        ((ErrorMapper, "record"), ValueError("no")),
        ((Similarity, "add"), torch.OutOfMemoryError("CUDA out of memory")),
        ((Similarity, "describe"), RuntimeError("no")),
    ],
    ids=str,
)
def test_the_picture_of_a_wrong_answer_decides_nothing(
    part: tuple[type, str], error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(*part, fail)
    with caplog.at_level(logging.ERROR):
        category, figures = compared(torch.zeros(64, 256), torch.ones(64, 256, dtype=F64), rows=True, pieces=4)
    assert (category, figures.wrong) == (Category.WRONG_VALUES, 64 * 256)
    shown = {ErrorPattern: bool(figures.pattern), ErrorMapper: figures.error_map is not None, Similarity: bool(figures.likeness)}
    assert [owner for owner, there in shown.items() if not there] == [part[0]]
    assert len(caplog.records) == 1 and caplog.records[0].exc_info is not None


def test_long_sums_widen_the_tolerance_of_float32() -> None:
    oracle, candidate = torch.ones(4, dtype=F64), torch.full((4,), 1.00018)
    for terms, passes in ((1, False), (100_000, False), (1 << 20, True)):
        comparison = Comparison("", oracle.shape, torch.float32, Rules(terms=terms))
        comparison.measure(OutputPiece(0, candidate, oracle.float(), oracle))
        assert comparison.passed is passes
