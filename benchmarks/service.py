"""Tests the service under load, attacks and crashes: every accepted submission must end with exactly one right result.

    python -m benchmarks.service [--submissions N] [--clients N] [--no-kills] [--soak N]

Starts the service on the CPU with a trivial problem. Clients submit distinct submissions, each with an idempotency key, and poll them
until all have results. Meanwhile it kills the fork servers of judges and workers, a judge, and the service, which is restarted at once. A
client without an answer repeats its call. At the end it reads the database: each accepted submission must have one result, honest ones
their fair verdict, hostile ones no good verdict. `--soak N` instead submits N that are judged quickly, kills nothing, and watches the
memory of all of the service's processes.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psutil
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select

from db.schema.models import EvaluationRow, SubmissionRow
from db.schema.queue_models import RequestRow
from db.store import Store
from tests.command_line import submission
from tests.web.service.process import Process

ACCEPT_TARGET_S = 0.1
GROWTH_TARGET = 0.1
"""Share of its memory that the service may gain between the first and the last quarter of a soak."""
HOSTILE_SHARE = 0.05
GIVE_UP_S = 7200.0
SAMPLE_S = 1.0
RETRY_S = 0.2
BEGIN_WITHIN_S = 5.0
INFRASTRUCTURE = "infrastructure_error"

HONEST = {
    "right": ({"no_custom_kernel"}, submission("x + x")),
    "wrong": ({"wrong_values"}, submission("x + {number} + 2")),
    "wrong shape": ({"wrong_shape"}, submission("(x * 2)[:, {number} % 7 + 1:]")),
    "raises": ({"python_exception"}, submission("x * 2", before="raise ValueError({number})")),
    "imports nothing": ({"import_error"}, submission("x * 2", header="import no_such_module_{number}\n")),
    "does not parse": ({"syntax_error"}, submission("x * * {number}")),
    "not a submission": ({"missing_model_new"}, "VALUE = {number}\n"),
}
"""Fair categories of each kind, and a template of its source."""
HOSTILE = {
    "kills its parents": submission(
        "x * 2", before="import os, signal; os.kill(os.getppid(), signal.SIGKILL); os.kill(-1, signal.SIGKILL)"
    ),
    "forks": submission("x * 2", before="import os; [os.fork() for _ in range(12)]; time.sleep(1 + {number} / 1e6)"),
    "eats memory": submission("x * 2", before="held = [bytearray(1 << 28) for _ in range(200)]"),
    "writes to every descriptor": submission(
        "x * 2", before="import os; [os.write(fd, b'0' * 4096) for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}')]"
    ),
    "leaves": submission("x * 2", before="import os; os._exit({number} % 3)"),
    "hangs": submission("x * 2", before="time.sleep(600)"),
    "crashes": submission("x * 2", before="import ctypes; ctypes.string_at({number} % 8)"),
}
"""None of them may be judged right, and none may cost another its result."""
GOOD = {"ok", "no_custom_kernel"}


@dataclass(frozen=True)
class Item:
    """One submission of the load."""

    number: int
    kind: str
    hostile: bool
    source: str

    @property
    def body(self) -> dict[str, object]:
        options = {"timeout_s": 5.0, "shapes": "own"}
        return {"problem": "double", "source": self.source, "options": options, "sample_id": self.number}


@dataclass
class Figures:
    """The figures of a run."""

    submissions: int
    clients: int
    accept_s: list[float] = field(default_factory=list)
    sent_again: int = 0
    kills: list[str] = field(default_factory=list)
    took_s: float = 0.0
    categories: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    lasting_bytes: list[int] = field(default_factory=list)
    """Memory of the lasting processes: the service and the fork servers."""

    @property
    def p99_s(self) -> float:
        return statistics.quantiles(self.accept_s, n=100)[98] if len(self.accept_s) > 1 else 0.0

    @property
    def growth(self) -> float:
        """Growth of the lasting processes' memory, as a share, from the second quarter to the last, without the warmup."""
        quarter = len(self.lasting_bytes) // 4
        if not quarter:
            return 0.0
        before = statistics.median(self.lasting_bytes[quarter : 2 * quarter])
        return statistics.median(self.lasting_bytes[-quarter:]) / before - 1


def load(count: int, hostile: float, kinds: Sequence[str]) -> list[Item]:
    """So many distinct submissions, a share of them hostile, in random order."""
    items = []
    bad = list(HOSTILE)
    for number in range(count):
        if random.random() < hostile:
            kind = bad[number % len(bad)]
            items.append(Item(number, kind, True, HOSTILE[kind].replace("{number}", str(number)) + f"# {number}\n"))
        else:
            kind = kinds[number % len(kinds)]
            items.append(Item(number, kind, False, HONEST[kind][1].replace("{number}", str(number)) + f"# {number}\n"))
    return items


class Load:
    """Clients that submit, and poll their submissions."""

    def __init__(self, service: Process, figures: Figures) -> None:
        self._service, self._figures = service, figures
        self.accepted: dict[int, str] = {}
        """Request id by the item's number."""
        self.ended = 0

    async def run(self, items: Sequence[Item]) -> None:
        """Run until all have ended."""
        waiting = iter(items)
        headers = {"Authorization": f"Bearer {self._service.token}"}
        limits = httpx2.Limits(max_connections=self._figures.clients, max_keepalive_connections=self._figures.clients)
        async with httpx2.AsyncClient(headers=headers, timeout=60, limits=limits) as client, asyncio.TaskGroup() as group:
            for _ in range(self._figures.clients):
                group.create_task(self._client(client, waiting))

    async def _client(self, client: httpx2.AsyncClient, waiting: Iterator[Item]) -> None:
        # Fifty clients don't start in the same millisecond.
        await asyncio.sleep(random.uniform(0, BEGIN_WITHIN_S))
        for item in waiting:
            public_id = await self._hand_in(client, item)
            self.accepted[item.number] = public_id
            while (await self._ask(client, public_id))["state"] != "done":
                continue
            self.ended += 1

    async def _hand_in(self, client: httpx2.AsyncClient, item: Item) -> str:
        headers = {"Idempotency-Key": f"item-{item.number}"}
        while True:
            start = time.monotonic()
            try:
                answer = await client.post(f"{self._service.address}/v1/evaluations", json=item.body, headers=headers)
            except httpx2.HTTPError:
                answer = None
            if answer is not None and answer.status_code in (200, 202):
                self._figures.accept_s.append(time.monotonic() - start)
                return str(answer.json()["id"])
            assert answer is None or answer.status_code in (429, 503), answer.text
            self._figures.sent_again += 1
            await asyncio.sleep(RETRY_S)

    async def _ask(self, client: httpx2.AsyncClient, public_id: str) -> dict[str, object]:
        while True:
            try:
                answer = await client.get(f"{self._service.address}/v1/evaluations/{public_id}", params={"wait": 30})
                if answer.status_code == 200:
                    found: dict[str, object] = answer.json()
                    return found
                assert answer.status_code in (429, 503), answer.text
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(RETRY_S)


def descendants(service: Process) -> list[psutil.Process]:
    """The service and all its processes."""
    try:
        root = psutil.Process(service.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _named(service: Process, word: str) -> list[psutil.Process]:
    found = []
    for process in descendants(service)[1:]:
        try:
            if word in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def kill_workers_parent(service: Process) -> str:
    """Kill the sandbox's fork server, which forks workers."""
    return _kill([process for process in _named(service, "zygote") if process.ppid() == service.pid][:1], "the workers' fork server")


def kill_judges_parent(service: Process) -> str:
    """Kill the fork server of the judges."""
    return _kill([process for process in _named(service, "forkserver") if process.ppid() == service.pid][:1], "the judges' fork server")


def kill_judge(service: Process) -> str:
    """Kill a judge, a child of the fork server."""
    judges = [process for process in _named(service, "forkserver") if process.ppid() != service.pid]
    return _kill(judges[-1:], "a judge")


def kill_service(service: Process) -> str:
    """Kill the service, restart it at once, and give the clients its address."""
    service.kill()
    service.start()
    return "the service"


def _kill(processes: Sequence[psutil.Process], what: str) -> str:
    for process in processes:
        process.kill()
    return what if processes else f"{what} (was not found)"


KILLS = (kill_workers_parent, kill_judge, kill_judges_parent, kill_service)


def _disturb(service: Process, running: Load, count: int, figures: Figures) -> None:
    """Kill one after another, evenly spaced over the ended submissions."""
    for number, kill in enumerate(KILLS, 1):
        while running.ended < count * number // (len(KILLS) + 1):
            time.sleep(0.05)
        figures.kills.append(f"{kill(service)} after {running.ended}")


def _watch(service: Process, figures: Figures, over: threading.Event) -> None:
    while not over.wait(SAMPLE_S):
        lasting = 0
        for process in descendants(service):
            try:
                if service.pid in (process.pid, process.ppid()):
                    memory = process.memory_info()
                    lasting += memory.rss if process.pid == service.pid else memory.rss - memory.shared
            except psutil.Error:
                continue
        figures.lasting_bytes.append(lasting)


def examine(service: Process, items: Sequence[Item], running: Load, figures: Figures) -> None:
    """Read the database, and note faults."""
    with Store.open(service.db) as store, store.read() as connection:
        query = (
            select(RequestRow.public_id, RequestRow.state, EvaluationRow.category, EvaluationRow.message)
            .outerjoin(EvaluationRow, EvaluationRow.id == RequestRow.evaluation_id)
            .order_by(RequestRow.id)
        )
        requests = {row.public_id: row for row in connection.execute(query)}
        names = select(SubmissionRow.name, func.count()).join(EvaluationRow, EvaluationRow.submission_id == SubmissionRow.id)
        results = {name: count for name, count in connection.execute(names.group_by(SubmissionRow.name))}  # noqa: C416
    figures.categories = dict(Counter(row.category for row in requests.values()).most_common())
    if len(requests) != len(items):
        figures.faults.append(f"{len(items)} were submitted, and {len(requests)} are in the database")
    for item in items:
        row = requests.get(running.accepted.get(item.number, ""))
        if row is None or row.state != "done" or results.get(f"service/{row.public_id}") != 1:
            figures.faults.append(f"{item.number} ({item.kind}) has not exactly one result")
        elif item.hostile and row.category in GOOD:
            figures.faults.append(f"{item.number} ({item.kind}) is hostile and was {row.category}")
        elif not item.hostile and row.category not in HONEST[item.kind][0]:
            figures.faults.append(f"{item.number} ({item.kind}) was {row.category}: {row.message}")
    if len(results) != len(requests):
        figures.faults.append(f"there are results of {len(results)} submissions to {len(requests)} requests")


def measure(root: Path, items: Sequence[Item], clients: int, kills: bool) -> Figures:
    """Start a service, load it, and check the results."""
    figures = Figures(len(items), clients)
    over = threading.Event()
    with Process(root) as service:
        running = Load(service, figures)
        threads = [threading.Thread(target=_watch, args=(service, figures, over), daemon=True)]
        if kills:
            threads.append(threading.Thread(target=_disturb, args=(service, running, len(items), figures), daemon=True))
        for thread in threads:
            thread.start()
        start = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(running.run(items), GIVE_UP_S))
        finally:
            figures.took_s = time.monotonic() - start
            over.set()
        if kills:
            threads[1].join()
        code = service.terminate()
        if code:
            figures.faults.append(f"the service ended with exit code {code}")
        examine(service, items, running, figures)
    return figures


def show(figures: Figures, soak: bool) -> None:
    """Print a table of it."""
    table = Table(title=f"{figures.submissions} submissions from {figures.clients} clients")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in (
        ("took s", f"{figures.took_s:.1f}"),
        ("evaluations a second", f"{figures.submissions / figures.took_s:.2f}"),
        ("accept p50 ms", f"{statistics.median(figures.accept_s) * 1000:.1f}"),
        ("accept p99 ms", f"{figures.p99_s * 1000:.1f}"),
        ("accept max ms", f"{max(figures.accept_s) * 1000:.1f}"),
        ("sent again", str(figures.sent_again)),
        *(("killed", kill) for kill in figures.kills),
        ("MiB of the service and the fork servers, by quarters", _by_quarters(figures.lasting_bytes)),
        *((("growth of that", f"{figures.growth:+.1%}"),) if soak else ()),
        *((f"category {name}", str(count)) for name, count in figures.categories.items()),
        ("faults", str(len(figures.faults))),
    ):
        table.add_row(name, value)
    Console().print(table)
    for fault in figures.faults[:50]:
        print(fault)


def _by_quarters(memory_bytes: Sequence[int]) -> str:
    """Median of each quarter of a run, in MiB."""
    size = -(-len(memory_bytes) // 4)
    quarters = [memory_bytes[start : start + size] for start in range(0, len(memory_bytes), size)] if size else []
    return ", ".join(f"{statistics.median(quarter) / 2**20:.0f}" for quarter in quarters)


def main() -> int:
    """Returns 0 without faults, else 1. A time above its target is reported, but not a fault."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="Tests the service under load, attacks and crashes.")
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--soak", type=int, metavar="N", help="submit N that are judged quickly, and kill nothing")
    options = parser.parse_args()
    soak = options.soak is not None
    kinds = [kind for kind in HONEST if not soak or kind != "right"]
    items = load(options.soak or options.submissions, 0.0 if soak else HOSTILE_SHARE, kinds)
    with tempfile.TemporaryDirectory(prefix="assay-service-") as folder:
        figures = measure(Path(folder), items, options.clients, not (soak or options.no_kills))
    show(figures, soak)
    if figures.p99_s > ACCEPT_TARGET_S:
        print(f"the target of {ACCEPT_TARGET_S * 1000:g} ms to accept is missed")
    if soak and figures.growth > GROWTH_TARGET:
        figures.faults.append(f"the memory grew by {figures.growth:.1%}")
    return 1 if figures.faults else 0


if __name__ == "__main__":
    sys.exit(main())
