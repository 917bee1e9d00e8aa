"""The best speedups of each author over all tasks, for fast_p curves and distributions of speedups."""

from collections import defaultdict
from dataclasses import dataclass, replace

from sqlalchemy import select

from db.queries.filters import Filters
from db.queries.ranking import EVERYTHING, KnownBoard, judged_on, newest_boards, places
from db.schema.models import AuthorRow
from db.store import Store


@dataclass(frozen=True, slots=True)
class Speedups:
    """Best speedups on one overall board (`db.queries.overall`)."""

    case: str | None
    device_name: str
    tasks: int
    authors: dict[str | None, tuple[float, ...]]
    """By author, most solved tasks first: the best speedup of each solved task, ascending."""

    def curve(self, author: str | None) -> tuple[tuple[float, float], ...]:
        """fast_p as steps: each p at which it falls, with the share of all tasks that are faster; the first is p = 0."""
        speedups = self.authors[author]
        solved = len(speedups)
        return (
            (0.0, solved / self.tasks),
            *((speedup, (solved - number) / self.tasks) for number, speedup in enumerate(speedups, 1)),
        )


def best_speedups(store: Store, filters: Filters = EVERYTHING, *, reduced_precision: bool = False) -> tuple[Speedups, ...]:
    """One for each matching case and device, over all problems and authors, timed by the device's default protocol.

    With `reduced_precision`, that category counts too. Raises StoreError if the database can't be read.
    """
    with store.read() as connection:
        boards = judged_on(connection, newest_boards(connection, replace(filters, problem=None, author=None, protocol=None)))
        ranking = places(connection, boards, reduced_precision=reduced_precision)
        names: dict[int, str | None] = {row.id: row.name for row in connection.execute(select(AuthorRow.id, AuthorRow.name))}
    settings: dict[tuple[str | None, str], list[KnownBoard]] = defaultdict(list)
    for board in boards:
        settings[board.case, board.device_name].append(board)
    found = []
    for (case_name, device_name), tasks in sorted(settings.items(), key=lambda item: (item[0][1], item[0][0] or "")):
        best: dict[str | None, dict[int, float]] = defaultdict(dict)
        for task in tasks:
            for place in ranking[task.id]:
                of_author = best[names[place.author_id]]
                of_author[task.id] = max(of_author.get(task.id, 0.0), place.speedup)
        authors = {author: tuple(sorted(speedups.values())) for author, speedups in best.items()}
        ordered = dict(sorted(authors.items(), key=lambda item: (-len(item[1]), -sum(item[1]), item[0] or "")))
        found.append(Speedups(case_name, device_name, len(tasks), ordered))
    return tuple(found)
