"""Has the agent's file judged by the service at ASSAY_URL, and writes the reward and the verdict.

Without a verdict no reward is written, so that Harbor reports an error, not a failure of the agent.
"""

import json
import os
import sys
from pathlib import Path

from assay_client import AssayError, Client, reward
from assay_client.tasks import Task

TESTS, LOGS, ANSWER = Path(__file__).parent, Path(os.environ["LOGS"]), Path(os.environ["ANSWER"])
MISSING = 0.0
"""The reward if the agent left no file."""


def main() -> int:
    """Returns 0 if there is a reward."""
    if not ANSWER.is_file():
        (LOGS / "reward.txt").write_text(f"{MISSING}\n", encoding="utf-8")
        sys.stdout.write(f"There is no {ANSWER}.\n")
        return 0
    asked = json.loads((TESTS / "problem.json").read_text(encoding="utf-8"))
    try:
        with Client() as client:
            known = asked["name"] in {each.name for each in client.problems()}
            task = Task(asked["name"], asked["source"], known)
            (evaluation,) = client.evaluate([task.answer(ANSWER.read_text(encoding="utf-8", errors="replace"))])
        value = reward(evaluation).value
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    result = evaluation.result
    if result is not None:
        (LOGS / "verdict.json").write_text(json.dumps(dict(result.record), indent=1), encoding="utf-8")
        sys.stdout.write(f"{result.status}/{result.category}\n{result.feedback}\n")
    (LOGS / "reward.txt").write_text(f"{value}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
