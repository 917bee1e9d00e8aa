"""A judge's context on the CPU, with a sandbox's fork server that also knows the hostile peer."""

from collections.abc import Iterator

import pytest

from evaluator.judge.context import JudgeContext
from tests.fuzz.conversation import cpu_context


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeContext]:
    with cpu_context(tmp_path_factory.mktemp("cache")) as context:
        yield context
