"""How evaluations are written: everything of a batch in one transaction."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from db import parts, rows
from db.dimensions import Dimensions, upsert
from db.models import BoardRow, EvaluationRow, RunRow, SourceRow, SubmissionRow
from db.parts import Parts
from db.record import Command, NewEvaluation
from db.standing import refresh, take_back
from evaluator.category import Status
from evaluator.result import Result

BATCH = 200
"""Most evaluations that are written together; well below the number of variables that SQLite takes in a statement."""


def write(connection: Connection, items: Sequence[NewEvaluation], run_id: int | None) -> list[int]:
    """Stores evaluations in the order given and returns their ids. A later one may take the place of an earlier one of the same batch."""
    return [number for batch in _batches(items) for number in _write_batch(connection, batch, run_id)]


def _batches(items: Sequence[NewEvaluation]) -> Iterator[list[NewEvaluation]]:
    """Runs of evaluations in which each is of another submission, so that none bears on another."""
    batch: list[NewEvaluation] = []
    names: set[str] = set()
    for item in items:
        if item.result.submission in names or len(batch) == BATCH:
            yield batch
            batch, names = [], set()
        batch.append(item)
        names.add(item.result.submission)
    if batch:
        yield batch


def _write_batch(connection: Connection, items: Sequence[NewEvaluation], run_id: int | None) -> list[int]:
    dimensions = Dimensions(connection)
    results = [item.result for item in items]
    split = [parts.split(result) for result in results]
    sources = _save_sources(connection, items)
    authors = [dimensions.author(result.author) for result in results]
    submissions = _save_submissions(connection, results, authors)
    tallies = take_back(_remove_replaced(connection, results, sources))
    values = [
        rows.evaluation_values(item.result, rest)
        | {
            "submission_id": submission_id,
            "author_id": author_id,
            "board_id": dimensions.board(item.result, item.problem_source),
            "source_id": sources[item.result.source_sha256],
            "environment_id": dimensions.environment(item.result.environment),
            "run_id": run_id if item.command is None else save_run(connection, item.command),
            "is_current": False,
            "is_ranked": False,
        }
        for item, (_, rest), author_id, submission_id in zip(items, split, authors, submissions, strict=True)
    ]
    insertion = insert(EvaluationRow).returning(EvaluationRow.id, sort_by_parameter_order=True)
    numbers = list(connection.execute(insertion, values).scalars())
    evidence = Parts()
    for number, (found, _) in zip(numbers, split, strict=True):
        evidence.add(found, number)
    evidence.write(connection)
    refresh(connection, [result.submission for result in results], tallies)
    return numbers


def save_run(connection: Connection, command: Command) -> int:
    """The id of a run, stored if it is not there yet."""
    values = {
        "command": json.dumps(command.words, ensure_ascii=False),
        "evaluator_version": command.evaluator_version,
        "started_at": command.started_at,
    }
    found = connection.execute(select(RunRow.id).filter_by(**values)).scalars().first()
    if found is not None:
        return found
    return connection.execute(insert(RunRow).values(**values, finished_at=command.finished_at).returning(RunRow.id)).scalar_one()


def _save_sources(connection: Connection, items: Sequence[NewEvaluation]) -> dict[str, int]:
    """Ids by hash."""
    texts = {item.result.source_sha256: rows.source_values(item.result.source_sha256, item.source) for item in items}
    statement = upsert(connection, SourceRow)
    better = {"text": statement.excluded.text, "exact": statement.excluded.exact}
    connection.execute(
        statement.on_conflict_do_update(index_elements=["sha256"], set_=better, where=SourceRow.exact < statement.excluded.exact),
        list(texts.values()),
    )
    found = connection.execute(select(SourceRow.sha256, SourceRow.id).where(SourceRow.sha256.in_(texts)))
    return {row.sha256: row.id for row in found}


def _save_submissions(connection: Connection, results: Sequence[Result], authors: Sequence[int]) -> list[int]:
    row = SubmissionRow
    columns = (row.name, row.block, row.author_id, row.sample_id)
    query = select(row.id, *columns).where(row.name.in_({result.submission for result in results}))
    known: dict[tuple[Any, ...], int] = {tuple(item[1:]): item[0] for item in connection.execute(query)}
    wanted = [(result.submission, result.block, author, result.sample_id) for result, author in zip(results, authors, strict=True)]
    missing = [key for key in dict.fromkeys(wanted) if key not in known]
    if missing:
        insertion = insert(row).returning(row.id, sort_by_parameter_order=True)
        values = [dict(zip(("name", "block", "author_id", "sample_id"), key, strict=True)) for key in missing]
        known |= dict(zip(missing, connection.execute(insertion, values).scalars(), strict=True))
    return [known[key] for key in wanted]


def _remove_replaced(connection: Connection, results: Sequence[Result], sources: dict[str, int]) -> list[tuple[bool, int, int, str]]:
    """Deletes the `not_evaluated` rows whose place the results take; what such a row leaves open matches anything."""
    row, submission, board = EvaluationRow, SubmissionRow, BoardRow
    by_name = {result.submission: result for result in results}
    query = (
        select(row.id, row.is_current, row.board_id, row.author_id, row.category, row.source_id, submission.name, submission.block)
        .add_columns(board.problem, board.case, board.device_name)
        .join(submission, submission.id == row.submission_id)
        .join(board, board.id == row.board_id)
        .where(submission.name.in_(by_name), row.status == Status.NOT_EVALUATED.value)
    )

    def is_replaced(old: Any) -> bool:
        new = by_name[old.name]
        return (
            old.block == new.block
            and old.source_id == sources[new.source_sha256]
            and old.problem in (None, new.problem)
            and old.case in (None, new.case)
            and old.device_name in ("", rows.device_name(new))
        )

    replaced = [old for old in connection.execute(query) if is_replaced(old)]
    if replaced:
        connection.execute(delete(row).where(row.id.in_([old.id for old in replaced])))
    return [(old.is_current, old.board_id, old.author_id, old.category) for old in replaced]
