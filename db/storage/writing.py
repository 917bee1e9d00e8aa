"""Writes evaluations: a whole batch in one transaction, with as little work as possible inside it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection, exists, insert, select, update

from db.schema.models import EvaluationRow, RunRow, SourceRow, SubmissionRow
from db.storage import evidence_rows, rows
from db.storage.dimensions import Dimensions, describe
from db.storage.evidence_rows import Parts
from db.storage.origin import add_origins
from db.storage.record import Entry, RunCommand
from db.storage.standing import TallyKey, count, demote, mark_copies, refresh, stand
from evaluator.results.category import Category
from evaluator.results.result import Result

BATCH = 200
"""Maximum evaluations written together; well below SQLite's limit of variables in a statement."""

_EVALUATIONS: Any = EvaluationRow.__table__
_SOURCES: Any = SourceRow.__table__
_SUBMISSIONS: Any = SubmissionRow.__table__
_INSERT = insert(_EVALUATIONS).returning(_EVALUATIONS.c.id, sort_by_parameter_order=True)


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """An evaluation with its rows that don't depend on stored ones, made before the database is locked."""

    item: Entry
    evaluation: dict[str, Any]
    evidence: evidence_rows.Rows
    source: dict[str, Any]
    environment: dict[str, Any] | None

    @classmethod
    def of(cls, item: Entry, environments: dict[str, dict[str, Any]]) -> Self:
        """`environments` is kept between calls."""
        evidence, rest = evidence_rows.split(item.result)
        source = rows.source_values(item.result.source_sha256, item.source)
        return cls(item, rows.evaluation_values(item.result, rest), evidence, source, describe(item.result.environment, environments))

    @property
    def result(self) -> Result:
        return self.item.result


def write(connection: Connection, items: Sequence[PreparedEntry], run_id: int | None, dimensions: Dimensions) -> list[int]:
    """Store evaluations in the given order and return their ids. A later one may affect an earlier one of the same call."""
    return [number for batch in _batches(items) for number in _write_batch(connection, batch, run_id, dimensions)]


def _batches(items: Sequence[PreparedEntry]) -> Iterator[list[PreparedEntry]]:
    """Stretches of evaluations of distinct submissions, so that none affects another."""
    batch: list[PreparedEntry] = []
    names: set[str] = set()
    for item in items:
        if item.result.submission in names or len(batch) == BATCH:
            yield batch
            batch, names = [], set()
        batch.append(item)
        names.add(item.result.submission)
    if batch:
        yield batch


def _write_batch(connection: Connection, items: Sequence[PreparedEntry], run_id: int | None, dimensions: Dimensions) -> list[int]:
    results = [item.result for item in items]
    sources, known_sources = _save_sources(connection, items)
    authors = dimensions.authors(connection, [result.author for result in results])
    boards = dimensions.boards(connection, results, [item.item.problem_source for item in items])
    environments = dimensions.environments(connection, [item.environment for item in items])
    submissions, judged_before = _save_submissions(connection, results, authors)
    tallies: dict[TallyKey, int] = defaultdict(int)
    values = [
        {
            **item.evaluation,
            "submission_id": submission,
            "author_id": author,
            "board_id": board,
            "source_id": sources[item.result.source_sha256],
            "environment_id": environment,
            "run_id": run_id if item.item.command is None else save_run(connection, item.item.command),
            "is_current": item.result.submission not in judged_before,
            "is_ranked": False,
        }
        for item, author, board, environment, submission in zip(items, authors, boards, environments, submissions, strict=True)
    ]
    # An evaluation of a new submission is current, and the latest of its copies; the other flags are derived.
    best = {_group(value): value for value in values if value["is_current"] and value["category"] == Category.OK.value}
    for value in best.values():
        value["is_ranked"] = True
    demote(connection, [group for group in best if group[0] in known_sources])
    numbers = list(connection.execute(_INSERT, values).scalars())
    evidence = Parts()
    for number, item in zip(numbers, items, strict=True):
        evidence.add(item.evidence, number)
    evidence.write(connection)
    add_origins(connection, [(None, number, origin) for number, item in zip(numbers, items, strict=True) for origin in item.item.origins])
    for value in values:
        if value["is_current"]:
            tallies[value["board_id"], value["author_id"], value["category"]] += 1
    stands = {(board, author) for _, board, author in best}
    if judged_before:
        stands |= refresh(connection, judged_before, tallies)
    count(connection, tallies)
    stand(connection, stands)
    mark_copies(connection, set(sources.values()))
    return numbers


def save_run(connection: Connection, command: RunCommand) -> int:
    """The id of a run, which is stored if it is new."""
    values = {
        "command": json.dumps(command.words, ensure_ascii=False),
        "evaluator_version": command.evaluator_version,
        "started_at": command.started_at,
    }
    found = connection.execute(select(RunRow.id).filter_by(**values)).scalars().first()
    if found is not None:
        return found
    return connection.execute(
        insert(RunRow).values(**values, finished_at=command.finished_at, expected=command.expected).returning(RunRow.id)
    ).scalar_one()


def _group(value: dict[str, Any]) -> tuple[int, int, int]:
    return value["source_id"], value["board_id"], value["author_id"]


def _save_sources(connection: Connection, items: Sequence[PreparedEntry]) -> tuple[dict[str, int], set[int]]:
    """Ids by hash, and the ones that already existed."""
    texts: dict[str, dict[str, Any]] = {}
    for item in items:
        if item.source["exact"] or item.source["sha256"] not in texts:
            texts[item.source["sha256"]] = item.source
    query = select(_SOURCES.c.sha256, _SOURCES.c.id, _SOURCES.c.exact).where(_SOURCES.c.sha256.in_(texts))
    found = {sha256: (number, exact) for sha256, number, exact in connection.execute(query)}
    for sha256, (number, exact) in found.items():
        if texts[sha256]["exact"] > exact:
            connection.execute(update(_SOURCES).where(_SOURCES.c.id == number).values(texts[sha256]))
    missing = [values for sha256, values in texts.items() if sha256 not in found]
    ids = {sha256: number for sha256, (number, _) in found.items()}
    known = set(ids.values())
    if missing:
        insertion = insert(_SOURCES).returning(_SOURCES.c.id, sort_by_parameter_order=True)
        ids |= dict(zip((values["sha256"] for values in missing), connection.execute(insertion, missing).scalars(), strict=True))
    return ids, known


def _save_submissions(connection: Connection, results: Sequence[Result], authors: Sequence[int]) -> tuple[list[int], set[str]]:
    """Ids of the submissions, and the names of those that already have evaluations."""
    row = _SUBMISSIONS.c
    judged = exists().where(_EVALUATIONS.c.submission_id == row.id).label("judged")
    query = select(row.id, row.name, row.block, row.author_id, row.sample_id, judged)
    found = connection.execute(query.where(row.name.in_({result.submission for result in results}))).all()
    known = {(item.name, item.block, item.author_id, item.sample_id): item.id for item in found}
    wanted = [(result.submission, result.block, author, result.sample_id) for result, author in zip(results, authors, strict=True)]
    missing = [key for key in dict.fromkeys(wanted) if key not in known]
    if missing:
        insertion = insert(_SUBMISSIONS).returning(row.id, sort_by_parameter_order=True)
        values = [dict(zip(("name", "block", "author_id", "sample_id"), key, strict=True)) for key in missing]
        known |= dict(zip(missing, connection.execute(insertion, values).scalars(), strict=True))
    return [known[key] for key in wanted], {item.name for item in found if item.judged}
