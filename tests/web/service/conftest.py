"""Services: without judges, with made-up verdicts on a socket, and a real one in its own process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient

from db.queue.requests import Requests
from db.storage.record import Entry
from db.store import Store
from evaluator.machine.devices import cpu
from evaluator.problem.catalogue import discover
from evaluator.results.category import Category
from tests.command_line import header_folder
from tests.db.conftest import postgresql, postgresql_url  # noqa: F401 - fixtures
from tests.db.samples import result
from tests.web.service.in_process import InProcess
from tests.web.service.process import Process
from web.service.http.app import create_app
from web.service.http.state import Bounds, Service
from web.service.metrics import Metrics
from web.service.problems import ServedProblems
from web.service.progress import Progress
from web.service.tokens import Scope, make

GOOD = "from torch import nn\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return x + x\n"


@dataclass
class Desk:
    """A service without judges, and a client of it."""

    store: Store
    service: Service
    client: TestClient
    token: str
    requests: Requests = field(init=False)

    def __post_init__(self) -> None:
        self.requests = Requests(self.store)

    def headers(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.token}"}

    def submit(self, key: str | None = None, token: str | None = None, **fields: Any) -> Any:
        """The answer to one submission."""
        body = {"problem": "softmax", "source": GOOD} | fields
        headers = self.headers(token) | ({"Idempotency-Key": key} if key else {})
        return self.client.post("/v1/evaluations", json={name: value for name, value in body.items() if value is not None}, headers=headers)

    def get(self, path: str, token: str | None = None) -> Any:
        return self.client.get(path, headers=self.headers(token))

    def judge(self, category: Category = Category.OK, owner: str = "another") -> int:
        """Judge the oldest request, as another process would."""
        (claim,) = self.requests.claim(owner, 1, 30.0)
        made = result(category, submission=f"service/{claim.public_id}", author=claim.author, problem=claim.problem, source=GOOD)
        return self.store.save_all([Entry.of(made, GOOD, 1, None)], also=self.requests.settle(owner, [claim]))[0]


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProblems]:
    """Some of the shipped problems."""
    known = {name: path for name, path in discover().items() if name in ("softmax", "mish", "matmul", "gelu_tanh")}
    made = ServedProblems(known, tmp_path_factory.mktemp("references"), cpu())
    made.load_all()
    yield made
    made.close()


@pytest.fixture
def bounds() -> Bounds:
    return Bounds(body_bytes=1 << 20, queued=50)


@pytest.fixture
def desk(store: Store, problems: ServedProblems, bounds: Bounds) -> Iterator[Desk]:
    service = Service(store, problems, Progress(), Metrics(Requests(store)), None, bounds)
    token = make(store, "ada", [Scope.READ, Scope.SUBMIT])
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        yield Desk(store, service, client, token)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A service that judges on the CPU, and has a folder of headers for submissions. Told to stop, it finishes nothing."""
    root = tmp_path_factory.mktemp("service")
    more = ("--headers", str(header_folder(root)), "--jobs", "1", "--grace", "0", "--max-timeout", "20")
    with Process(root, None, *more) as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A service on a socket with made-up verdicts."""
    with InProcess(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def tokens(store: Store) -> Callable[..., str]:
    """Makes tokens."""
    return lambda author, *scopes, **limits: make(store, author, scopes, **limits)


def code_of(answer: Any) -> tuple[int, str]:
    assert set(answer.json()) == {"error"} and set(answer.json()["error"]) == {"code", "message", "details"}, answer.text
    return answer.status_code, answer.json()["error"]["code"]
