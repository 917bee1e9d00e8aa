"""Reward functions for an environment of `verifiers`, which is not imported here.

    import verifiers as vf
    from verifiers_rubric import FUNCS, WEIGHTS

    def load_environment(dataset):  # with columns prompt and info={"problem": NAME}
        return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric(funcs=FUNCS, weights=WEIGHTS))

The first function is the reward; the others are there to be watched and weigh nothing.
The service's address and the token come from ASSAY_URL and ASSAY_TOKEN.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from assay_client import AsyncClient, Reward

Completion = str | Sequence[Mapping[str, Any]]
Info = Mapping[str, Any]
State = MutableMapping[str, Any]

KEY = "assay"
"""Under which a rollout's state holds its reward, with all that it rests on."""
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()


def client() -> AsyncClient:
    """One for each event loop: all rollouts of a loop share its connections."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncClient()
    return _clients[loop]


async def kernel_reward(completion: Completion, info: Info, state: State, **_rest: Any) -> float:
    """The reward of one rollout. Raises where it can't be judged."""
    return (await judged(completion, info, state)).value


async def is_correct(completion: Completion, info: Info, state: State, **_rest: Any) -> float:
    """1 for a right answer by a kernel of its own."""
    return float((await judged(completion, info, state)).parts.correct > 0)


async def speedup(completion: Completion, info: Info, state: State, **_rest: Any) -> float:
    """Over the reference; 0 where it was not timed."""
    return (await judged(completion, info, state)).evaluation.speedup or 0.0


async def judged(completion: Completion, info: Info, state: State) -> Reward:
    """The rollout's reward. A rubric may call its functions side by side: who asks first does not matter, as the service judges the same
    response once."""
    if KEY not in state:
        text = completion if isinstance(completion, str) else str(completion[-1]["content"])
        (state[KEY],) = await client().score([text], info["problem"])
    reward: Reward = state[KEY]
    return reward


FUNCS: list[Callable[..., Awaitable[float]]] = [kernel_reward, is_correct, speedup]
WEIGHTS = [1.0, 0.0, 0.0]
