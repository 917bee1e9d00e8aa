"""Names of timing protocols on record."""

import pytest

from evaluator.results.protocol_names import alternative


@pytest.mark.parametrize(("name", "found"), [(None, None), ("cold", None), ("cpu", None), ("graph", "graph"), ("throughput", "throughput")])
def test_only_a_protocol_that_is_no_default_has_a_name_on_record(name: str | None, found: str | None) -> None:
    assert alternative(name) == found
