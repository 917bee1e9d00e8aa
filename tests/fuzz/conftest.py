"""A judge's bench on the CPU, with a zygote that knows the hostile peer too."""

from collections.abc import Iterator

import pytest

from evaluator.judge.context import JudgeContext
from tests.fuzz.conversation import cpu_bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    with cpu_bench(tmp_path_factory.mktemp("cache")) as bench:
        yield bench
