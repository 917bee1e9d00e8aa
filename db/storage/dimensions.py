"""Ids of rows that many evaluations share: authors, boards, environments and problems, each made on first use.

An open store caches them, so that a save queries each only once per run. Only committed rows are cached. If another process has removed
a row since, its foreign key fails, because ids are never used twice.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from db.schema.models import AuthorRow, Base, BoardRow, CaseRow, EnvironmentRow, ProblemRow
from db.storage.rows import BoardKey, environment_values, storable_text, text_sha256
from evaluator.results.result import Environment, Result


def upsert(connection: Connection, model: type[Base]) -> Any:
    """INSERT with a conflict clause, in the dialect of the connection's database."""
    table: Any = model.__table__
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


class Dimensions:
    """One store's cache."""

    def __init__(self) -> None:
        self._known: dict[tuple[type[Base], str], int] = {}
        self._problems: set[tuple[str | None, ...]] = set()
        self._fresh: dict[tuple[type[Base], str], int] = {}
        self._fresh_problems: set[tuple[str | None, ...]] = set()

    def __bool__(self) -> bool:
        return bool(self._known)

    def keep(self) -> None:
        """Keep the new entries: the transaction was committed."""
        self._known |= self._fresh
        self._problems |= self._fresh_problems
        self.drop()

    def drop(self) -> None:
        """Drop the new entries: the transaction was rolled back."""
        self._fresh, self._fresh_problems = {}, set()

    def forget(self) -> None:
        """Drop all entries: one of them is outdated."""
        self.drop()
        self._known, self._problems = {}, set()

    def authors(self, connection: Connection, names: Sequence[str | None]) -> list[int]:
        """The ids of authors; None has an id too."""
        return self._ids(connection, AuthorRow, [(text_sha256(name), {"name": name}) for name in names])

    def environments(self, connection: Connection, values: Sequence[dict[str, Any] | None]) -> list[int | None]:
        """The ids of environments, as `describe` gives them."""
        wanted = [(item["sha256"], item) for item in values if item is not None]
        found = iter(self._ids(connection, EnvironmentRow, wanted))
        return [None if item is None else next(found) for item in values]

    def boards(self, connection: Connection, results: Sequence[Result], problem_sources: Sequence[str | None]) -> list[int]:
        """The ids of the results' boards; makes their problems and cases too."""
        boards = [BoardKey.of(result) for result in results]
        self._save_problems(connection, zip(boards, problem_sources, strict=True))
        return self._ids(connection, BoardRow, [(board.sha256, _columns(board)) for board in boards])

    def _save_problems(self, connection: Connection, items: Iterable[tuple[BoardKey, str | None]]) -> None:
        missing = {
            (board.problem, board.problem_sha256, board.case, None if text is None else storable_text(text))
            for board, text in items
            if board.problem is not None and board.problem_sha256 is not None
        } - self._problems
        if not missing:
            return
        problems = upsert(connection, ProblemRow)
        later = problems.on_conflict_do_update(
            index_elements=["name", "sha256"], set_={"source": problems.excluded.source}, where=ProblemRow.source.is_(None)
        )
        connection.execute(later, [{"name": name, "sha256": sha256, "source": text} for name, sha256, _, text in missing])
        cases = [{"problem": name, "problem_sha256": sha256, "name": case} for name, sha256, case, _ in missing if case is not None]
        if cases:
            connection.execute(upsert(connection, CaseRow).on_conflict_do_nothing(), cases)
        self._fresh_problems |= missing

    def _ids(
        self,
        connection: Connection,
        model: type[AuthorRow] | type[BoardRow] | type[EnvironmentRow],
        wanted: Sequence[tuple[str, dict[str, Any]]],
    ) -> list[int]:
        missing = {sha256: values for sha256, values in wanted if (model, sha256) not in self._known and (model, sha256) not in self._fresh}
        if missing:
            self._ask(connection, model, missing)
            new = [{**values, "sha256": sha256} for sha256, values in missing.items() if (model, sha256) not in self._fresh]
            if new:
                connection.execute(upsert(connection, model).on_conflict_do_nothing(), new)
                self._ask(connection, model, missing)
        both = self._known | self._fresh if self._fresh else self._known
        return [both[model, sha256] for sha256, _ in wanted]

    def _ask(self, connection: Connection, model: type[AuthorRow] | type[BoardRow] | type[EnvironmentRow], missing: dict[str, Any]) -> None:
        query = select(model.sha256, model.id).where(model.sha256.in_(missing))
        self._fresh |= {(model, sha256): number for sha256, number in connection.execute(query)}


def describe(environment: Environment | None, seen: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Columns of an environment, cached in `seen`: a run has one or two, and every result has its own copy."""
    if environment is None:
        return None
    text = environment.model_dump_json()
    if text not in seen:
        seen[text] = environment_values(environment)
    return seen[text]


def _columns(board: BoardKey) -> dict[str, Any]:
    return {name: getattr(board, name) for name in BoardKey.__dataclass_fields__}
