"""Authors over all problems, and the leaderboards."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from db.queries.filters import Filters
from db.queries.generality import Generality, generality, only
from db.queries.leaderboard import LeaderboardRow, leaderboard
from db.queries.overall import OverallBoard, OverallRow, overall, told
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.display.figures import best_text, light_text, rank_text, solved_text
from evaluator.results.display.text import natural
from web.filters import Answer, FiltersOf, Name, PageNumber, ReducedPrecision
from web.forms import Field, answer_fields, fields_of, unknown_name
from web.matrix import Matrix, matrix
from web.site import PageContent, Site, SiteOf, page, setting_text, share
from web.tables import Column, Table, table

router = APIRouter()
Every = Annotated[bool, Query(alias="all")]
"""Whether to show everything, without a limit."""


@dataclass(frozen=True)
class ShownBoard:
    """One overall board as a matrix and as a table."""

    board: OverallBoard
    matrix: Matrix
    disturbed: Callable[[], Mapping[int | None, str]]
    """Reads what disturbed the times of the matrix's evaluations, by id; empty if nothing did."""
    table: Table[OverallRow]


@dataclass(frozen=True)
class OverallPage(PageContent):
    """Authors over all problems."""

    evaluations: int
    fields: tuple[Field, ...]
    boards: tuple[ShownBoard, ...]
    reduced_precision: bool
    fast_p: tuple[float, ...] = FAST_P
    failure_speedup: float = FAILURE_SPEEDUP


@dataclass(frozen=True)
class LeaderboardPage(PageContent):
    """Ranks, by author and board."""

    fields: tuple[Field, ...]
    every: bool
    reduced_precision: bool
    table: Table[LeaderboardRow]
    unknown: str | None
    """Message about an unknown filter value, if nothing matches."""


COLUMNS: tuple[Column[LeaderboardRow], ...] = (
    Column("rank", "rank", lambda row: row.rank, numeric=True, kind="rank", text=lambda row: rank_text(row.rank, row.shared)),
    Column("problem", "problem", lambda row: natural(row.problem), kind="problem", text=lambda row: row.problem),
    Column("submission", "submission", lambda row: (row.submission, row.block or 0), kind="submission"),
    Column("author", "author", lambda row: row.author, kind="author"),
    Column("speedup", "speedup", lambda row: row.speedup, numeric=True, best_first=True, kind="speedup"),
    Column("runtime", "runtime ms", lambda row: row.runtime_ms, numeric=True, kind="number"),
    Column("baseline", "baseline ms", lambda row: row.baseline_ms, numeric=True, kind="number"),
    Column(
        *("best_baseline", "best baseline ms", lambda row: row.best_baseline_ms),
        numeric=True,
        text=lambda row: best_text(row.best_baseline, row.best_baseline_ms),
        minor=True,
    ),
    Column(
        *("light", "of light (baseline)", lambda row: row.speed_of_light),
        numeric=True,
        best_first=True,
        text=lambda row: light_text(row.speed_of_light, row.baseline_speed_of_light),
        minor=True,
    ),
    Column("case", "case", lambda row: row.case),
    Column("device", "device", lambda row: row.device_name, kind="device"),
    # A column with the default value on most boards takes no room.
    Column("precision", "precision", lambda row: None if row.precision == "own" else row.precision, text=lambda row: row.precision),
    Column("protocol", "protocol", lambda row: row.protocol, text=lambda row: row.protocol or "default"),
)
"""Columns of a place, without its evaluation and without those that are read only for the shown rows (`places_table`)."""


def places_table(site: Site, rows: Iterable[LeaderboardRow], sort: str | None, order: str | None, number: int) -> Table[LeaderboardRow]:
    """A page of places, grouped by where they come from if nothing else is requested.

    `generalises`, `robust` and what disturbed the times are read only for the shown rows, so rows can't be sorted by them.
    """
    found = _places_table(site, rows, sort, order, number)
    return replace(found, rows=site.disturbances.told(found.rows, "result_id"))


def places_sheet(site: Site, rows: Iterable[LeaderboardRow]) -> Iterator[LeaderboardRow]:
    """All places with what disturbed their times, which is read on demand: the page does not show them all."""
    yield from site.disturbances.told(rows, "result_id")


def _places_table(site: Site, rows: Iterable[LeaderboardRow], sort: str | None, order: str | None, number: int) -> Table[LeaderboardRow]:
    known = list(rows)
    found: dict[int, Generality] = {}

    def told(name: str) -> Column[LeaderboardRow]:
        def answer(row: LeaderboardRow) -> str:
            return str(getattr(found[row.evaluation_id], name))

        def tested(row: LeaderboardRow) -> str | None:
            return None if answer(row) == "untested" else answer(row)

        return Column(name, name, tested, text=answer, sortable=False, minor=True)

    evaluation: Column[LeaderboardRow] = Column(
        "evaluation", "evaluation", lambda row: row.evaluation_id, numeric=True, best_first=True, kind="evaluation"
    )
    columns = (*COLUMNS, told("generalises"), told("robust"), evaluation)

    def prepare(shown: tuple[LeaderboardRow, ...]) -> None:
        found.update(generality(site.store, [row.evaluation_id for row in shown]))

    kept = "problem" if len({row.problem for row in known}) > 1 else "rank"
    if sort or not site.is_served or len({_setting(row) for row in known}) < 2:
        return table(columns, known, sort, order, number, site.page_rows, prepare, order_of_rows=kept)
    columns = tuple(column for column in columns if column.key not in ("case", "device", "precision", "protocol"))
    return table(columns, sorted(known, key=_setting), None, None, number, site.page_rows, prepare, order_of_rows=kept, group=_setting)


def _setting(row: LeaderboardRow) -> str:
    return setting_text(row.case, row.device_name, row.precision, row.protocol)


@page(router, "/", "overall.html", json_path="/index.json")
def overall_page(
    site: SiteOf,
    filters: FiltersOf,
    every: Every = False,
    reduced_precision: ReducedPrecision = False,
    sort: Name = None,
    order: Name = None,
) -> OverallPage:
    key = ("overall", filters, reduced_precision)
    boards = site.memory.recall(key, lambda: overall(site.store, filters, reduced_precision=reduced_precision))
    evaluations = site.memory.recall("count", site.store.count)
    return OverallPage(
        value=lambda: {"evaluations": evaluations, "boards": told(boards, site.disturbances)},
        sheet=(_record(board, row) for board in boards for row in board.rows),
        evaluations=evaluations,
        fields=fields_of(site, filters, "device", "case", "precision", "protocol"),
        boards=tuple(_shown(site, board, every, sort, order) for board in boards),
        reduced_precision=reduced_precision,
    )


@page(router, "/leaderboard", "leaderboard.html")
def leaderboard_page(
    site: SiteOf,
    filters: FiltersOf,
    every: Every = False,
    reduced_precision: ReducedPrecision = False,
    generalises: Answer = None,
    robust: Answer = None,
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> LeaderboardPage:
    # Over all problems this would list every correct submission.
    every = every and filters.problem is not None
    rows = places(site, filters, every, reduced_precision)
    rows = only(site.store, rows, generalises or None, robust or None)
    shown = places_table(site, rows, sort, order, number)
    data = places_sheet(site, shown.every)
    return LeaderboardPage(
        value=lambda: tuple(data),
        sheet=data,
        fields=fields_of(site, filters, "problem", "author", "device", "case", "precision", "protocol", workloads=True)
        + answer_fields(generalises=generalises, robust=robust),
        every=every,
        reduced_precision=reduced_precision,
        table=shown,
        unknown=None if shown.total else unknown_name(site, filters),
    )


def places(site: Site, filters: Filters, every: bool = False, reduced_precision: bool = False) -> tuple[LeaderboardRow, ...]:
    """The places that match. Ranks don't depend on the author, device and precision, so each case is ranked once for all of these.

    The case itself may be a workload, and a workload is ranked only by name.
    """
    if filters.problem is not None:
        key = ("leaderboard", filters, every, reduced_precision)
        return site.memory.recall(key, lambda: leaderboard(site.store, filters, every=every, reduced_precision=reduced_precision))
    everybody = Filters(case=filters.case, protocol=filters.protocol)
    key = ("leaderboard", everybody, False, reduced_precision)
    rows = site.memory.recall(key, lambda: leaderboard(site.store, everybody, reduced_precision=reduced_precision))
    wanted = filters.columns() | ({} if filters.author is None else {"author": filters.author})
    return tuple(row for row in rows if all(getattr(row, name) == value for name, value in wanted.items()))


def _shown(site: Site, board: OverallBoard, every: bool, sort: str | None, order: str | None) -> ShownBoard:
    ks = tuple(k for k in PASS_AT if any(k in row.pass_at for row in board.rows))
    columns: list[Column[OverallRow]] = [
        Column("rank", "rank", lambda row: row.rank, numeric=True, kind="rank", text=lambda row: rank_text(row.rank, row.shared)),
        Column("author", "author", lambda row: row.author, kind="author"),
        Column(
            *("solved", "solved", lambda row: row.solved),
            numeric=True,
            best_first=True,
            text=lambda row: solved_text(row.solved, row.reduced),
        ),
        *(_fast(p) for p in FAST_P),
        Column(
            *("mean", "mean speedup", lambda row: row.geometric_mean),
            numeric=True,
            best_first=True,
            text=lambda row: f"{row.geometric_mean:.3f}",
        ),
        *(_pass_at(k) for k in ks),
        Column("medals", "medals", lambda row: row.medals, numeric=True, best_first=True, kind="medals"),
        Column("tried", "tried", lambda row: row.attempted, numeric=True, best_first=True),
        Column("samples", "samples", lambda row: row.samples, numeric=True, best_first=True),
    ]
    best = matrix(board, every)
    numbers = [each.evaluation_id for row in best.rows for each in row.results if each]
    shown = table(columns, board.rows, sort, order, size=len(board.rows) or 1, order_of_rows="rank")
    return ShownBoard(board, best, lambda: site.disturbances.of(numbers), shown)


def _fast(p: float) -> Column[OverallRow]:
    return _share(f"fast_{p:g}", f"fast_{p:g}", lambda row: row.fast[p])


def _pass_at(k: int) -> Column[OverallRow]:
    return _share(f"pass_{k}", f"pass@{k}", lambda row: row.pass_at.get(k))


def _share(key: str, title: str, value: Callable[[OverallRow], float | None]) -> Column[OverallRow]:
    return Column(key, title, value, numeric=True, best_first=True, text=lambda row: share(value(row)))


def _record(board: OverallBoard, row: OverallRow) -> dict[str, Any]:
    """One row of the CSV."""
    told: dict[str, Any] = {"case": board.case, "device_name": board.device_name, "tasks": board.tasks}
    told |= {"rank": row.rank, "author": row.author}
    told |= {"attempted": row.attempted, "samples": row.samples, "solved": row.solved, "reduced": row.reduced}
    told |= {f"fast_{p:g}": part for p, part in row.fast.items()} | {"geometric_mean": row.geometric_mean}
    told |= {f"pass@{k}": row.pass_at.get(k) for k in PASS_AT}
    told |= dict(zip(("gold", "silver", "bronze"), row.medals, strict=True))
    return told | {"failures": sum(item.count for item in row.failures.counts)}
