"""The stage of each evaluation, as the judging threads report it; the event loop can wait here for a change."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Collection

from anyio import to_thread

from db.error import StoreError
from db.queue.requests import Requests

MAX_ENDED = 2000
"""Maximum ended evaluations whose stages are still known."""
LOOK_S = 1.0
"""Seconds between looks for changes by other processes."""
log = logging.getLogger(__name__)


class Progress:
    """The stages of this process's evaluations. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: OrderedDict[str, list[str]] = OrderedDict()
        self._open: set[str] = set()
        self._watch: ProgressWatch | None = None

    def tell(self, watch: "ProgressWatch | None") -> None:
        """The watch that hears of changes."""
        self._watch = watch

    def begin(self, public_id: str) -> None:
        """Note that it has been claimed."""
        with self._lock:
            self._open.add(public_id)
            self._stages[public_id] = []
            while len(self._stages) > MAX_ENDED + len(self._open):
                self._stages.popitem(last=False)
        self._changed(public_id)

    def enter(self, public_id: str, stage: str) -> None:
        """Note that it is in this stage now."""
        with self._lock:
            self._stages.setdefault(public_id, []).append(stage)
        self._changed(public_id)

    def end(self, public_id: str) -> None:
        """Note that it has left this process."""
        with self._lock:
            self._open.discard(public_id)
        self._changed(public_id)

    def present(self) -> dict[str, str | None]:
        """This process's evaluations, each with its stage, if any."""
        with self._lock:
            return {public_id: stages[-1] if (stages := self._stages.get(public_id)) else None for public_id in self._open}

    def stages(self, public_id: str) -> tuple[str, ...]:
        """All stages that it has entered in this process since its last claim."""
        with self._lock:
            return tuple(self._stages.get(public_id, ()))

    def _changed(self, public_id: str) -> None:
        if (watch := self._watch) is not None:
            watch.notify(public_id)


class ProgressWatch:
    """Lets coroutines wait for changes of requests, by this process or others. Belongs to one event loop."""

    def __init__(self, requests: Requests) -> None:
        self._requests, self._loop = requests, asyncio.get_running_loop()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._seen: dict[str, tuple[str, str | None]] = {}
        self._closed = False
        self._looking = asyncio.create_task(self._look())

    @property
    def closed(self) -> bool:
        """Whether waiting has ended for good."""
        return self._closed

    def close(self) -> None:
        """Wake all waiters, for good."""
        self._closed = True
        self._looking.cancel()
        for public_id in list(self._waiting):
            self._wake(public_id)

    def notify(self, public_id: str) -> None:
        """Report a change of that request. May be called from any thread."""
        if not self._closed:
            self._loop.call_soon_threadsafe(self._wake, public_id)

    def listen(self, public_ids: Collection[str]) -> "Listener":
        """A listener for changes from now on. Use as a context manager."""
        return Listener(self, public_ids)

    def add(self, public_id: str, event: asyncio.Event) -> None:
        """Set the event at each change of that request."""
        self._waiting.setdefault(public_id, set()).add(event)

    def remove(self, public_id: str, event: asyncio.Event) -> None:
        """Undo `add`."""
        events = self._waiting.get(public_id, set())
        events.discard(event)
        if not events:
            self._waiting.pop(public_id, None)
            self._seen.pop(public_id, None)

    def _wake(self, public_id: str) -> None:
        for event in self._waiting.get(public_id, ()):
            event.set()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            waiting = list(self._waiting)
            if not waiting:
                continue
            try:
                found = await to_thread.run_sync(self._requests.find, waiting)
            except StoreError as error:
                log.warning("%s", error)
                continue
            for public_id, request in found.items():
                state = (request.state, request.stage)
                if public_id in self._waiting and self._seen.get(public_id) != state:
                    self._seen[public_id] = state
                    self._wake(public_id)


class Listener:
    """Hears of all changes of some requests while it is entered."""

    def __init__(self, watch: ProgressWatch, public_ids: Collection[str]) -> None:
        self._watch, self._public_ids, self._event = watch, tuple(public_ids), asyncio.Event()

    def __enter__(self) -> "Listener":
        for public_id in self._public_ids:
            self._watch.add(public_id, self._event)
        return self

    def __exit__(self, *_: object) -> None:
        for public_id in self._public_ids:
            self._watch.remove(public_id, self._event)

    async def wait(self, within_s: float) -> bool:
        """Whether something has changed since it was entered or last asked."""
        if self._watch.closed:
            return False
        try:
            await asyncio.wait_for(self._event.wait(), within_s)
        except TimeoutError:
            return False
        self._event.clear()
        return True
