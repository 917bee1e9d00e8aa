"""The filter form of a page, and the names that it proposes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import select

from db.error import StoreError
from db.queries.facets import Facets
from db.queries.filters import ANSWERS, COLUMNS, Filters
from db.queries.names import require_known, run_number
from db.schema.evidence_models import WorkloadRow
from db.schema.models import AuthorRow, BoardRow
from db.store import Store
from web.site import Site

MAX_CHOICES = 500
"""Maximum names that a field proposes; others can be typed."""


@dataclass(frozen=True, slots=True)
class Field:
    """A filter and its possible values."""

    name: str
    value: str | None
    choices: tuple[str, ...]
    free: bool
    """Whether it is a text field: other values than `choices` exist."""
    unset: str = "all"
    """Label for no choice."""
    hint: str = ""
    """Example of a value to type."""
    counts: Mapping[str, int] | None = None
    """Number of evaluations that each choice would leave; None if it is not shown."""

    def label(self, choice: str) -> str:
        """A choice with its number."""
        return choice if self.counts is None else f"{choice} ({self.counts.get(choice, 0):,})"


def fields_of(site: Site, filters: Filters, *names: str, facets: Facets | None = None, workloads: bool = False) -> tuple[Field, ...]:
    """Form fields for the filters with these names. With `workloads`, the case's field proposes workloads too."""
    known = known_names(site)
    if workloads:
        known = known | {"case": tuple(sorted({*known["case"], *site.memory.recall("workloads", lambda: _workloads(site.store))}))}
    counts = facets or {}
    return tuple(_field(name, getattr(filters, name), known[name], counts.get(name)) for name in names)


def known_names(site: Site) -> dict[str, tuple[str, ...]]:
    """The values of each filter that the database holds."""
    return site.memory.recall("choices", lambda: _known(site.store))


def answer_fields(**answers: str | None) -> tuple[Field, ...]:
    """Form fields for `generalises` and `robust`, with their current values."""
    return tuple(Field(name, answer, ANSWERS, free=False) for name, answer in answers.items())


def unknown_name(site: Site, filters: Filters) -> str | None:
    """Message for a filter value that the database does not hold, with similar names; None if it holds all."""
    return _refusal(site, lambda: require_known(site.store, filters))


def unknown_run(site: Site, run: int | None) -> str | None:
    """Message for a run that the database does not hold; None if it holds the run, or none is chosen."""
    return None if run is None else _refusal(site, lambda: run_number(site.store, str(run)))


def choice_field(name: str, value: str | None, choices: Iterable[str], facets: Facets) -> Field:
    """A field with all possible values."""
    return Field(name, value, tuple(choices), free=False, counts=facets[name])


def text_field(name: str, value: str | None, hint: str) -> Field:
    """A text field with an example."""
    return Field(name, value, (), free=True, hint=hint)


def _refusal(site: Site, ask: Callable[[], object]) -> str | None:
    try:
        ask()
    except StoreError as error:
        text = str(error).removeprefix(f"{site.store.name}: ")
        return f"{text[0].upper()}{text[1:]}."
    return None


def _field(name: str, value: str | None, known: tuple[str, ...], counts: Mapping[str, int] | None) -> Field:
    free = len(known) > MAX_CHOICES or (value is not None and value not in known)
    return Field(name, value, known[:MAX_CHOICES], free, "default" if name == "protocol" else "all", counts=counts)


def _known(store: Store) -> dict[str, tuple[str, ...]]:
    columns = {name: getattr(BoardRow, column) for name, column in COLUMNS.items()}
    columns |= {"protocol": BoardRow.protocol, "author": AuthorRow.name}
    with store.read() as connection:
        found = {name: connection.execute(select(column).distinct()).scalars().all() for name, column in columns.items()}
    return {name: tuple(sorted(value for value in values if value)) for name, values in found.items()}


def _workloads(store: Store) -> tuple[str, ...]:
    with store.read() as connection:
        return tuple(connection.execute(select(WorkloadRow.case).distinct()).scalars())
