"""The loop: ask the model, have the answer judged, send the model the feedback, ask again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from assay_client.client import AsyncClient
from assay_client.errors import AssayError, NotEvaluatedError
from assay_client.models import Options
from assay_client.repair.endpoint import Endpoint, EndpointError, Message
from assay_client.repair.journal import Attempt, Journal, JournalError, Place
from assay_client.tasks import Task, follow_up, is_solved

MOST_ATTEMPTS = 100
"""Maximum attempts of one chain; sample numbers are computed with it."""
CUT_OFF = "Your answer was cut off, since it reached the limit of tokens. Answer more briefly.\n\n"
Told = Callable[[Place, Attempt], None]
"""Called after each verdict."""


@dataclass(frozen=True)
class Plan:
    """The plan of a run."""

    tasks: Sequence[Task]
    attempts: int
    """Maximum answers of one chain: the first, and its repairs."""
    chains: int = 1
    """Chains per problem."""
    concurrency: int = 8
    """Chains at once."""
    options: Options = field(default_factory=Options)
    """With `profile`, a solved chain goes on to its last attempt, for a faster answer."""


class StoppedError(Exception):
    """A chain can't go on now; a later run continues it."""

    def __init__(self, why: str, hopeless: bool = False) -> None:
        """hopeless: whether all other chains would fail too."""
        super().__init__(why)
        self.hopeless = hopeless


class Loop:
    """One run over all chains of a plan."""

    def __init__(self, plan: Plan, endpoint: Endpoint, client: AsyncClient, journal: Journal, told: Told) -> None:
        self._plan, self._endpoint, self._client, self._journal, self._told = plan, endpoint, client, journal, told
        self._room = asyncio.Semaphore(plan.concurrency)
        self._hopeless = False

    async def run(self) -> dict[tuple[str, int], str]:
        """Finish all chains; returns why the unfinished ones stopped, by problem and chain."""
        chains = [(task, chain) for chain in range(self._plan.chains) for task in self._plan.tasks]
        async with asyncio.TaskGroup() as group:
            running = {(task.name, chain): group.create_task(self._chain(task, chain)) for task, chain in chains}
        return {place: why for place, each in running.items() if (why := each.result())}

    async def _chain(self, task: Task, chain: int) -> str:
        """Run a chain. Returns why it stopped early; empty if it did not."""
        async with self._room:
            if self._hopeless:
                return "not begun, since no chain can go on"
            try:
                await self._answer(task, chain)
            except StoppedError as stopped:
                self._hopeless |= stopped.hopeless
                return str(stopped)
            except JournalError as error:
                self._hopeless = True
                return str(error)
            return ""

    async def _answer(self, task: Task, chain: int) -> None:
        """Run a chain to its end. Raises StoppedError, JournalError."""
        messages: list[Message] = [{"role": "user", "content": task.prompt}]
        for number in range(self._plan.attempts):
            place = Place(task.name, chain, number)
            attempt = self._journal.attempts.get(place)
            if attempt is None:
                attempt = await self._ask(messages)
                self._journal.answered(place, attempt)
            if not attempt.judged:
                attempt = await self._judge(task, place, attempt)
                self._journal.judged(place, attempt)
                self._told(place, attempt)
            if attempt.solved and not self._plan.options.profile:
                return
            messages += _exchanged(attempt)

    async def _ask(self, messages: Sequence[Message]) -> Attempt:
        try:
            response = await self._endpoint.ask(messages)
        except EndpointError as error:
            raise StoppedError(str(error), error.hopeless) from error
        return Attempt(response.text, response.cut_off)

    async def _judge(self, task: Task, place: Place, attempt: Attempt) -> Attempt:
        name = f"repair/{place.problem}/{place.chain}.{place.attempt}"
        sample_id = place.chain * MOST_ATTEMPTS + place.attempt
        try:
            (evaluation,) = await self._client.evaluate([task.submission(attempt.response, self._plan.options, sample_id, name)])
        except AssayError as error:
            raise StoppedError(str(error)) from error
        if evaluation.result is None or not evaluation.judged:
            raise StoppedError(str(NotEvaluatedError(evaluation)))
        result = evaluation.result
        return replace(
            attempt,
            evaluation=evaluation.id,
            category=f"{result.status}/{result.category}",
            feedback=result.feedback,
            speedup=result.speedup,
            solved=is_solved(evaluation),
        )


def _exchanged(attempt: Attempt) -> list[Message]:
    """The answer, and the reply to it."""
    told = follow_up(attempt.feedback, attempt.solved)
    return [{"role": "assistant", "content": attempt.response}, {"role": "user", "content": CUT_OFF + told if attempt.cut_off else told}]
