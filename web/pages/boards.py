"""Authors over all problems, and the leaderboards."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from db.queries.filters import Filters
from db.queries.generality import Generality, generality, only
from db.queries.leaderboard import LeaderboardRow, leaderboard
from db.queries.overall import OverallBoard, OverallRow, overall
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from web.filters import Answer, FiltersOf, Name, PageNumber, ReducedPrecision
from web.forms import Field, answer_fields, fields_of
from web.site import PageContent, Site, SiteOf, page
from web.tables import Column, Table, table

router = APIRouter()


@dataclass(frozen=True)
class ShownBoard:
    """An overall board as a table."""

    board: OverallBoard
    pass_at: tuple[int, ...]
    """The k for which anybody has pass@k."""
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
    """Who is how fast where."""

    fields: tuple[Field, ...]
    every: bool
    reduced_precision: bool
    table: Table[LeaderboardRow]
    generality: dict[int, Generality]
    """Of the rows that are shown, by the evaluation's id."""


COLUMNS: tuple[Column[LeaderboardRow], ...] = (
    Column("rank", "rank", lambda row: row.rank, numeric=True),
    Column("speedup", "speedup", lambda row: row.speedup, numeric=True, best_first=True),
    Column("interval", "95 % interval", lambda row: row.speedup_low, numeric=True, best_first=True),
    Column("runtime", "runtime ms", lambda row: row.runtime_ms, numeric=True),
    Column("baseline", "baseline ms", lambda row: row.baseline_ms, numeric=True),
    Column("best_baseline", "best baseline ms", lambda row: row.best_baseline_ms, numeric=True),
    Column("light", "of light (baseline)", lambda row: row.speed_of_light, numeric=True, best_first=True),
    Column("author", "author", lambda row: row.author),
    Column("submission", "submission", lambda row: (row.submission, row.block or 0)),
    Column("problem", "problem", lambda row: row.problem),
    Column("case", "case", lambda row: row.case),
    Column("device", "device", lambda row: row.device_name),
    Column("precision", "precision", lambda row: row.precision),
    Column("protocol", "protocol", lambda row: row.protocol),
    Column("generalises", "generalises", None),
    Column("robust", "robust", None),
    Column("evaluation", "evaluation", lambda row: row.evaluation_id, numeric=True, best_first=True),
)


@page(router, "/", "overall.html", json_path="/index.json")
def overall_page(
    site: SiteOf, filters: FiltersOf, reduced_precision: ReducedPrecision = False, sort: Name = None, order: Name = None
) -> OverallPage:
    key = ("overall", filters, reduced_precision)
    boards = site.memory.recall(key, lambda: overall(site.store, filters, reduced_precision=reduced_precision))
    evaluations = site.memory.recall("count", site.store.count)
    return OverallPage(
        value={"evaluations": evaluations, "boards": boards},
        evaluations=evaluations,
        fields=fields_of(site, filters, "device", "case", "precision", "protocol"),
        boards=tuple(_shown(board, sort, order) for board in boards),
        reduced_precision=reduced_precision,
    )


@page(router, "/leaderboard", "leaderboard.html")
def leaderboard_page(
    site: SiteOf,
    filters: FiltersOf,
    every: Annotated[bool, Query(alias="all")] = False,
    reduced_precision: ReducedPrecision = False,
    generalises: Answer = None,
    robust: Answer = None,
    sort: Name = None,
    order: Name = None,
    number: PageNumber = 1,
) -> LeaderboardPage:
    # Of all problems together that would be every right answer there ever was.
    every = every and filters.problem is not None
    rows = places(site, filters, every, reduced_precision)
    rows = only(site.store, rows, generalises or None, robust or None)
    shown = table(COLUMNS, rows, sort, order, number)
    return LeaderboardPage(
        value=rows,
        fields=fields_of(site, filters, "problem", "author", "device", "case", "precision", "protocol")
        + answer_fields(generalises=generalises, robust=robust),
        every=every,
        reduced_precision=reduced_precision,
        table=shown,
        generality=generality(site.store, [row.evaluation_id for row in shown.rows]),
    )


def places(site: Site, filters: Filters, every: bool = False, reduced_precision: bool = False) -> tuple[LeaderboardRow, ...]:
    """The places that fit. Ranks don't depend on filters, so that those of authors are found once for all."""
    if filters.problem is not None:
        key = ("leaderboard", filters, every, reduced_precision)
        return site.memory.recall(key, lambda: leaderboard(site.store, filters, every=every, reduced_precision=reduced_precision))
    everybody = Filters(protocol=filters.protocol)
    key = ("leaderboard", everybody, False, reduced_precision)
    rows = site.memory.recall(key, lambda: leaderboard(site.store, everybody, reduced_precision=reduced_precision))
    wanted = filters.columns() | ({} if filters.author is None else {"author": filters.author})
    return tuple(row for row in rows if all(getattr(row, name) == value for name, value in wanted.items()))


def _shown(board: OverallBoard, sort: str | None, order: str | None) -> ShownBoard:
    ks = tuple(k for k in PASS_AT if any(k in row.pass_at for row in board.rows))
    columns: list[Column[OverallRow]] = [
        Column("rank", "rank", lambda row: row.rank, numeric=True),
        Column("author", "author", lambda row: row.author),
        Column("solved", "solved", lambda row: row.solved, numeric=True, best_first=True),
        *(_fast(p) for p in FAST_P),
        Column("mean", "mean speedup", lambda row: row.geometric_mean, numeric=True, best_first=True),
        *(_pass_at(k) for k in ks),
        Column("medals", "medals", lambda row: row.medals, numeric=True, best_first=True),
        Column("tried", "tried", lambda row: row.attempted, numeric=True, best_first=True),
        Column("samples", "samples", lambda row: row.samples, numeric=True, best_first=True),
    ]
    return ShownBoard(board, ks, table(columns, board.rows, sort, order, size=len(board.rows) or 1))


def _fast(p: float) -> Column[OverallRow]:
    return Column(f"fast_{p:g}", f"fast_{p:g}", lambda row: row.fast[p], numeric=True, best_first=True)


def _pass_at(k: int) -> Column[OverallRow]:
    return Column(f"pass_{k}", f"pass@{k}", lambda row: row.pass_at.get(k), numeric=True, best_first=True)
