"""Ids of what many evaluations share: authors, boards, environments and problems, each made when it is first met."""

from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from db.models import AuthorRow, Base, BoardRow, CaseRow, EnvironmentRow, ProblemRow
from db.rows import Board, environment_values, storable_text, text_sha256
from evaluator.result import Environment, Result


def upsert(connection: Connection, model: type[Base]) -> Any:
    """INSERT with what to do about a conflict, in the words of the connection's database."""
    return postgresql.insert(model) if connection.dialect.name == "postgresql" else sqlite.insert(model)


class Dimensions:
    """Remembers ids within one transaction, so that a batch asks for each once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[tuple[type[Base], str], int] = {}
        self._environments: dict[int, int] = {}
        self._problems: set[tuple[str | None, ...]] = set()

    def author(self, name: str | None) -> int:
        """The id of an author; None is an author too."""
        return self._id(AuthorRow, text_sha256(name), {"name": name})

    def environment(self, environment: Environment | None) -> int | None:
        """The id of an environment, by its content."""
        if environment is None:
            return None
        # Results of one run share the object, whose hash costs more than all else here.
        if id(environment) not in self._environments:
            values = environment_values(environment)
            self._environments[id(environment)] = self._id(EnvironmentRow, values.pop("sha256"), values)
        return self._environments[id(environment)]

    def board(self, result: Result, problem_source: str | None) -> int:
        """The id of the board of a result, with the problem and the case that it refers to."""
        board = Board.of(result)
        if board.problem is not None and board.problem_sha256 is not None:
            self._problem(board.problem, board.problem_sha256, board.case, problem_source)
        values = {name: getattr(board, name) for name in Board.__dataclass_fields__}
        return self._id(BoardRow, board.sha256, values)

    def _problem(self, name: str, sha256: str, case: str | None, source: str | None) -> None:
        text = None if source is None else storable_text(source)
        if (name, sha256, case, text) in self._problems:
            return
        statement = upsert(self._connection, ProblemRow).values(name=name, sha256=sha256, source=text)
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["name", "sha256"], set_={"source": statement.excluded.source}, where=ProblemRow.source.is_(None)
            )
        )
        if case is not None:
            values = {"problem": name, "problem_sha256": sha256, "name": case}
            self._connection.execute(upsert(self._connection, CaseRow).values(values).on_conflict_do_nothing())
        self._problems.add((name, sha256, case, text))

    def _id(self, model: type[AuthorRow] | type[BoardRow] | type[EnvironmentRow], sha256: str, values: dict[str, Any]) -> int:
        key = (model, sha256)
        if key not in self._ids:
            query = select(model.id).where(model.sha256 == sha256)
            found = self._connection.execute(query).scalar_one_or_none()
            if found is None:
                insertion = upsert(self._connection, model).values(sha256=sha256, **values)
                self._connection.execute(insertion.on_conflict_do_nothing())
                found = self._connection.execute(query).scalar_one()
            self._ids[key] = found
        return self._ids[key]
