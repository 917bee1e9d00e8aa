"""The calls against the document that describes them: whatever is sent, the answer is one that the document knows."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.web.service.conftest import Desk
from web.service.tokens import Scope, make

pytestmark = pytest.mark.slow(25)

EXAMPLES = 5
CALLS = (
    *(
        "POST /v1/evaluations",
        "POST /v1/evaluations:batch",
        "POST /v1/evaluations:poll",
        "GET /v1/evaluations",
        "GET /v1/evaluations/{public_id}",
    ),
    *("DELETE /v1/evaluations/{public_id}", "GET /v1/evaluations/{public_id}/events", "GET /v1/problems", "GET /v1/leaderboard"),
    *("GET /healthz", "GET /readyz", "GET /metrics", "GET /drain", "POST /drain", "DELETE /drain"),
)
LENIENT: dict[tuple[str, GenerationMode], list[Any]] = {
    # Names of problems, cases and protocols are texts like others; which there are, the document does not know.
    ("POST /v1/evaluations", GenerationMode.POSITIVE): [positive_data_acceptance],
    # A parameter that is given twice counts once.
    ("GET /v1/leaderboard", GenerationMode.NEGATIVE): [negative_data_rejection],
    # Each item is refused for itself.
    ("POST /v1/evaluations:batch", GenerationMode.NEGATIVE): [negative_data_rejection],
}


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("call", CALLS)
def test_answers_are_as_described(desk: Desk, call: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", desk.client.app)
    schema.config.generation.update(with_security_parameters=False)  # the token is ours
    method, path = call.split()
    operation: Any = schema[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or operation.path_parameters):
        return  # nothing can be wrong with it
    headers = {"Authorization": f"Bearer {make(desk.store, 'ada', list(Scope))}"}
    cases: st.SearchStrategy[Any] = operation.as_strategy(generation_mode=mode)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def validate(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and isinstance(case.query, dict) and "wait" in case.query:
            case.query["wait"] = min(case.query["wait"], 0.1) if isinstance(case.query["wait"], int | float) else case.query["wait"]
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict) and isinstance(case.body.get("wait"), int | float):
            case.body["wait"] = min(case.body["wait"], 0.1)
        case.call_and_validate(headers=headers, excluded_checks=LENIENT.get((call, mode), []))

    validate()


def test_every_call_is_described_with_an_example_of_what_it_takes(desk: Desk) -> None:
    document = desk.client.get("/openapi.json").json()
    assert {f"{method.upper()} {path}" for path, calls in document["paths"].items() for method in calls} == set(CALLS)
    schemas = document["components"]["schemas"]
    for name in ("Submit", "Batch", "Poll"):
        assert schemas[name]["examples"], name
    assert schemas["Batch"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Submit"}
    for path, calls in document["paths"].items():
        for call in calls.values():
            assert call["summary"]
            if path not in ("/healthz", "/readyz"):
                assert call["security"] == [{"HTTPBearer": []}]
                assert {"401", "403", "429", "503"} <= set(call["responses"])
