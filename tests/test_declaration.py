"""The ASSAY dict of a problem: what it may say, and where it is wrong."""

import ast
from typing import Any

import pytest

from evaluator.declaration import Declaration, DeclarationError, declare


def declared(source: str) -> Declaration:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return declare(namespace, ast.parse(source))


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


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("ASSAY = [1]", 3, "plain dict"),
        ("ASSAY = dict(\n    rows_independant=True,\n)", 4, "nearest: rows_independent"),
        ("ASSAY = {\n    'dtype': 'float61',\n}", 4, "dtype"),
        ("ASSAY = dict(tolerance=0)", 3, "tolerance"),
        ("ASSAY = dict(tolerance=float('nan'))", 3, "tolerance"),
        ("ASSAY = dict(\n    cases={\n        'small': {},\n    },\n)", 4, "'full'"),
        ("ASSAY = dict(cases={'full': {}, 'Very Small': {}})", 3, "cases"),
        ("ASSAY = dict(\n  cases={'full': {},\n  'small': {\n    'batch_sise': 3}})", 6, "nearest: batch_size"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'batch_size': 'three'}})", 3, "of type int"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'batch_size': True}})", 3, "of type int"),
        ("ASSAY = dict(cases={'full': {}, 'small': {'function': 3}})", 3, "no constant"),
    ],
)
def test_errors_name_the_line_and_the_rule(body: str, line: int, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(f"batch_size = 4\ndef function(): pass\n{body}\n")
    assert caught.value.line == line
    assert said in caught.value.rule
