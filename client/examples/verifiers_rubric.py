"""Reward functions for an environment of `verifiers`, which is not imported here.

    import verifiers as vf
    from verifiers_rubric import FUNCS, WEIGHTS

    def load_environment(dataset):  # with columns prompt and info={"problem": NAME}
        return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric(funcs=FUNCS, weights=WEIGHTS))

The first function asks the service; the others read what it left in the rollout's state, and are there to be watched: they weigh nothing.
The service's address and the token come from ASSAY_URL and ASSAY_TOKEN.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from assay_client import AsyncClient, Reward

KEY = "assay"
"""Under which a rollout's state holds its reward with all that it rests on."""
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()


def client() -> AsyncClient:
    """One for each event loop: all rollouts of a loop share its connections."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncClient()
    return _clients[loop]


async def kernel_reward(
    completion: str | Sequence[Mapping[str, Any]], info: Mapping[str, Any], state: MutableMapping[str, Any], **_rest: Any
) -> float:
    """The reward of one rollout. Raises where it can't be judged."""
    text = completion if isinstance(completion, str) else str(completion[-1]["content"])
    (reward,) = await client().score([text], info["problem"])
    state[KEY] = reward
    return reward.value


async def is_correct(state: Mapping[str, Any], **_rest: Any) -> float:
    """1 for a right answer by a kernel of its own."""
    return float(_reward(state).parts.correct > 0)


async def speedup(state: Mapping[str, Any], **_rest: Any) -> float:
    """Over the reference; 0 where it was not timed."""
    return _reward(state).evaluation.speedup or 0.0


def _reward(state: Mapping[str, Any]) -> Reward:
    reward: Reward = state[KEY]
    return reward


FUNCS: list[Callable[..., Awaitable[float]]] = [kernel_reward, is_correct, speedup]
WEIGHTS = [1.0, 0.0, 0.0]
