"""Build requests of the shipped submissions, as their workers would send them to the builder."""

import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluator.build import BuildRequest
from evaluator.submission.discover import find
from evaluator.worker.patches.extension import Extensions

FOLDER = Path(__file__).parents[1] / "submissions"
LOADING_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Extension:
    """The first extension of a submission."""

    label: str
    """The submission's path below the folder of submissions."""
    request: BuildRequest


class _AskedError(Exception):
    """Ends the loading of a submission at its first build."""


def shipped_extensions() -> Iterator[Extension]:
    """The first extension of each shipped submission, in order, without submissions that request none or an invalid one."""
    for submission in find([FOLDER], every_block=True):
        request = requested(submission.code)
        if request is not None:
            block = f" [{submission.block}]" if submission.block else ""
            yield Extension(f"{submission.path.relative_to(FOLDER)}{block}", request)


def requested(source: str) -> BuildRequest | None:
    """The first build request of a submission. Runs it up to there, in its own process but without a sandbox: only for trusted code."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_load, args=(source, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        data = ours.recv() if ours.poll(LOADING_TIMEOUT_S) else None
        return BuildRequest.model_validate(data) if data else None
    except (EOFError, ValidationError):
        return None
    finally:
        process.kill()
        process.join()


def _load(source: str, pipe: Connection) -> None:
    def ask(request: dict[str, Any]) -> Any:
        pipe.send(request)
        raise _AskedError

    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    Extensions(ask).install()
    names: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, "submission.py", "exec"), names)
    names["ModelNew"]()  # some build on construction
