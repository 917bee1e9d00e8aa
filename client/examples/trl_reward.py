"""Reward functions for TRL's trainers and for verl; neither library is imported here.

TRL:    GRPOTrainer(reward_funcs=reward_func, train_dataset=...), where the dataset has a column `problem` beside `prompt`.
verl:   custom_reward_function.path=trl_reward.py, custom_reward_function.name=compute_score_batch, reward_model.reward_manager=batch,
        where each row has the problem's name in reward_model.ground_truth.

The service's address and the token come from ASSAY_URL and ASSAY_TOKEN.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from assay_client import Client

Completion = str | Sequence[Mapping[str, Any]]


@cache
def client() -> Client:
    """One client per process, which keeps its connections."""
    return Client()


def text_of(completion: Completion) -> str:
    """The model's text; of a conversation, the last message."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])


def reward_func(
    completions: Sequence[Completion], problem: Sequence[str], trainer_state: Any = None, **_columns: Any
) -> list[float | None]:
    """For TRL: one reward per completion, None for one that can't be judged. The service stores the trainer's step with it."""
    step = None if trainer_state is None else trainer_state.global_step
    rewards = client().score([text_of(completion) for completion in completions], problem, step=step)
    return [reward.value if reward.evaluation.judged else None for reward in rewards]


def compute_score_batch(solution_strs: Sequence[str], ground_truths: Sequence[str], **_columns: Any) -> list[dict[str, float]]:
    """For verl, which passes arguments by name: each reward with its log entries. verl needs a number: 0 without a verdict, as `judged`
    tells."""
    rewards = client().score(solution_strs, ground_truths, missing=0.0)
    return [
        {
            "score": reward.value,
            "correct": float(reward.parts.correct > 0),
            "speedup": reward.evaluation.speedup or 0.0,
            "judged": float(reward.evaluation.judged),
        }
        for reward in rewards
    ]
