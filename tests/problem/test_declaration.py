"""The ASSAY dict of a problem: its keys, and the messages on mistakes."""

import ast
from pathlib import Path
from typing import Any

import pytest

from evaluator.problem.declaration import Declaration, DeclarationError, declare


def declared(source: str, folder: Path = Path()) -> Declaration:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return declare(namespace, ast.parse(source), folder)


def test_without_a_declaration_there_is_one_case() -> None:
    declaration = declared("x = 1\n")
    assert declaration.cases == {"full": {}}
    assert (declaration.dtype, declaration.tolerance, declaration.rows_independent) == (None, 1.0, False)


@pytest.mark.parametrize("form", ["ASSAY = dict(cases={cases}, tolerance=2)", "ASSAY: dict = {{'cases': {cases}, 'tolerance': 2}}"])
def test_cases_set_constants_of_their_own_type(form: str) -> None:
    cases = "{'full': {}, 'small': {'n': 3, 'slope': 1, 'shape': (2, 3), 'flag': False}}"
    declaration = declared("n = 10\nslope = 0.5\nshape = (4, 5)\nflag = True\n" + form.format(cases=cases))
    assert declaration.cases["small"] == {"n": 3, "slope": 1, "shape": (2, 3), "flag": False}
    assert declaration.tolerance == 2.0


FLOOR = "ASSAY = {\n    'cases': {'full': {}, 'small': {'batch_size': 2}},\n    'floor': {\n"


def test_without_a_floor_there_is_none_and_an_empty_one_counts_the_answer() -> None:
    assert declared("x = 1\n").floor is None
    floor = declared("ASSAY = {'floor': {}}").floor
    assert floor is not None and (floor.reads, floor.writes, floor.operations) == ((), "all", "0")


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ("{'reads': 'all', 'writes': [], 'operations': '2 * n'}", ("all", (), "2 * n")),
        ("{'reads': [0, 'norm.weight'], 'writes': [1], 'operations': 12}", ((0, "norm.weight"), (1,), "12")),
        ("{'reads': (), 'operations': 'n * slope // 2'}", ((), "all", "n * slope // 2")),
    ],
)
def test_floors(parts: str, found: tuple[object, ...]) -> None:
    floor = declared(f"n = 4\nslope = 0.5\nASSAY = {{'floor': {parts}}}").floor
    assert floor is not None and (floor.reads, floor.writes, floor.operations) == found


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("ASSAY = [1]", 3, "ASSAY is of type list; make it a plain dict"),
        ("ASSAY = dict(\n    rows_independant=True,\n)", 4, "nearest: rows_independent"),
        ("ASSAY = {\n    'dtype': 'float61',\n}", 4, "dtype"),
        ("ASSAY = dict(tolerance=0)", 3, "tolerance: Value error, has to be a number above 0, or a dict from types to such numbers, not 0"),
        ("ASSAY = dict(tolerance='2')", 3, "not '2'"),
        ("ASSAY = dict(tolerance={'float16': True})", 3, "a number above 0, or a dict from types to such numbers, not True"),
        ("ASSAY = dict(tolerance={'float16': 2,\n    'fp32': 2})", 3, "'fp32' is not a type that Assay judges in; use one of: float16,"),
        ("ASSAY = dict(tags='norm')", 3, "tags"),
        ("ASSAY = dict(tags=['norm', 'norm'])", 3, "'norm' occurs more than once"),
        ("ASSAY = dict(tags=['Two words'])", 3, "tags.0"),
        ("ASSAY = dict(level=0)", 3, "level"),
        ("ASSAY = dict(level='1')", 3, "level"),
        ("ASSAY = dict(dtypes=['float8'])", 3, "dtypes.0"),
        ("ASSAY = dict(\n    dtype='float16',\n    dtypes=['float32'])", 5, "dtypes lacks 'float16', the problem's own dtype; add it"),
        ("ASSAY = dict(in_place='all')", 3, "in_place"),
        ("ASSAY = dict(in_place=[-1])", 3, "positions of forward()'s arguments"),
        ("ASSAY = dict(backward=True,\n    in_place=[0])", 4, "backward and in_place are both declared"),
        ("ASSAY = dict(mode='training')", 3, "mode"),
        ("ASSAY = dict(\n    generalisation={'full': {}})", 4, "'full' is a case already"),
        ("ASSAY = dict(\n    generalisation={\n        'odd': {'m': 1}})", 5, "case 'odd' sets 'm', but the module has no such constant"),
        ("ASSAY = dict(tolerance=float('nan'))", 3, "tolerance"),
        ("ASSAY = dict(\n    cases={\n        'small': {},\n    },\n)", 4, "no case is named 'full'; give"),
        ("ASSAY = dict(cases={'full': {}, 'Very Small': {}})", 3, "cases"),
        ("ASSAY = dict(\n  cases={'full': {},\n  'small': {\n    'batch_sise': 3}})", 6, "nearest: batch_size"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'batch_size': 'three'}})", 3, "of type int"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'batch_size': True}})", 3, "of type int"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'function': 3}})", 3, "no such constant"),
        ("ASSAY = {\n    'floor': 7,\n}", 4, "floor: Input should be a valid dictionary"),
        (FLOOR + "'raeds': 'all'}}", 6, "floor.raeds"),
        (FLOOR + "'reads': 'some'}}", 6, "'all' or a list of positions of forward()'s arguments and names of parameters"),
        (FLOOR + "'reads': [0, 1, 0]}}", 6, "each once"),
        (FLOOR + "'reads': [-1]}}", 6, "floor.reads"),
        (FLOOR + "'reads': [True]}}", 6, "floor.reads"),
        (FLOOR + "'writes': ['y']}}", 6, "positions of the answer's tensors"),
        (FLOOR + "'reads': 'all',\n'operations': 'batch_sise ** 2'}}", 7, "nearest: batch_size"),
        (FLOOR + "'reads': 'all',\n'operations': 'function(3)'}}", 7, "numbers, names and + - * / // **"),
        (FLOOR + "'operations': None}}", 6, "a string with an expression"),
        (FLOOR + "'operations': '1 / (batch_size - 2)'}}", 6, "operations of case 'small': '1 / (batch_size - 2)' has no value"),
        (FLOOR + "'operations': 'batch_size - 3'}}", 6, "operations of case 'small' are -1; give a number of at least 0"),
    ],
)
def test_errors_name_the_line_and_the_rule(body: str, line: int, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(f"batch_size = 4\ndef function(): pass\n{body}\n")
    assert caught.value.line == line
    assert said in caught.value.rule


def test_what_a_problem_may_say_of_itself() -> None:
    declaration = declared(
        "n = 8\nASSAY = dict(tags=['norm', 'rows'], level=2, source='a paper', dtype='float32', dtypes=['float32', 'bfloat16'],"
        " in_place=[1, 0], mode='train', generalisation={'odd': {'n': 7}})"
    )
    assert (declaration.tags, declaration.level, declaration.source) == (("norm", "rows"), 2, "a paper")
    assert (declaration.dtypes, declaration.in_place, declaration.mode) == (("float32", "bfloat16"), (1, 0), "train")
    assert [*declaration.shapes()] == [("cases", "full", {}), ("generalisation", "odd", {"n": 7})]
    assert not declared("x = 1\n").backward and declared("ASSAY = {'backward': True}").backward
