"""The client's part of docs/service.md agrees with the client."""

import re
from dataclasses import asdict, fields
from pathlib import Path

import assay_client
import pytest
from assay_client import AssayError, Parts, Shaping, reward

from tests.client.made import evaluation
from tests.command_line import PROJECT

SERVICE = (PROJECT / "docs" / "service.md").read_text(encoding="utf-8")
TEXT = SERVICE.split("## The reward client")[1].split("\n## ")[0]
ERRORS = SERVICE.split("\n### Errors")[1].split("\n## ")[0]
SHAPING = TEXT.split("### The shaping")[1].split("\n### ")[0]


def test_the_table_of_the_shaping_has_its_parts_and_numbers() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (-?[\d.]+) \|", SHAPING, re.MULTILINE)
    assert [name for name, _ in rows] == [part.name for part in fields(Parts)]
    assert {name: float(number) for name, number in rows}.items() <= asdict(Shaping()).items()
    assert (Shaping().slowest, Shaping().fastest) == (0.125, 8.0) and "`slowest` is 0.125 and `fastest` is 8" in SHAPING


def test_the_table_of_rewards_is_right() -> None:
    outcomes = [
        evaluation("disqualified", "cached_output"),
        evaluation("build_failed", "link_error"),
        evaluation("run_failed", "timeout"),
        evaluation("incorrect", "wrong_values"),
        evaluation("correct", "reduced_precision", speedup=8.0, speed_of_light=1.0),
        *(evaluation(speedup=speedup) for speedup in (0.125, 1.0, 8.0)),
        evaluation(speedup=8.0, speed_of_light=1.0),
    ]
    told = re.findall(r"^\| [a-z][^|`]+ \| (-?[\d.]+) \|$", SHAPING, re.MULTILINE)
    assert [float(number) for number in told] == pytest.approx([reward(each).value for each in outcomes])
    assert reward(evaluation("correct", "degenerate_problem")).value == reward(evaluation("incorrect", "wrong_values")).value
    assert reward(evaluation("correct", "no_custom_kernel")).value == reward(evaluation("build_failed", "link_error")).value


def test_every_error_is_told() -> None:
    exported = {name: getattr(assay_client, name) for name in assay_client.__all__}
    kinds = {name for name, each in exported.items() if isinstance(each, type) and issubclass(each, AssayError)}
    assert kinds - {"ServiceError", "RefusedError"} == set(re.findall(r"`(\w+Error)`", ERRORS + TEXT))


def test_the_examples_of_the_documents_parse() -> None:
    for path in (PROJECT / "docs" / "service.md", PROJECT / "client" / "README.md"):
        (example,) = re.findall(r"^```python\n(.*?)^```$", Path(path).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        compile(example, str(path), "exec")
