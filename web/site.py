"""What every page needs: the database, the cache, and the way from an answer to a page.

A template shows an answer as HTML, under the name `page`. The same answer is available as JSON, so that programs can read everything
that a page shows.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from db.output.facts import (
    KERNEL_COLUMNS,
    ablation_text,
    conditions_facts,
    environment_facts,
    floor_text,
    inputs_word,
    kernel_cells,
    light_facts,
    own_work_text,
    parameters_facts,
    profile_facts,
    shape_words,
    spells,
    timing_facts,
)
from db.output.plot_times import sides
from db.output.report import dump
from db.queries.disturbances import Disturbances
from db.queries.timeline import Timeline
from db.storage.rows import storable_text
from db.store import Store
from evaluator.results.display.figures import MARK, all_right_text, best_text, count_text, light_text, rank_text, solved_text
from evaluator.results.display.text import plain_block
from evaluator.results.evidence import Record
from evaluator.results.score import speedup_in
from web.answer_cache import Memory
from web.diff import Differ
from web.glossary import TERMS, anchor
from web.highlight import Highlighter
from web.matrix import pace, scale, stretch
from web.tables import PAGE_ROWS, csv_lines

FOLDER = Path(__file__).parent
MOST_CHARS = 160
"""Characters of a long command that tables show."""
JSON, CSV = "application/json", "text/csv; charset=utf-8"


class Site:
    """One database and its cache in memory.

    made_at: when its pages are written as files (`web.static_site`); None if a server shows them. Templates have it too.
    """

    def __init__(self, store: Store, made_at: datetime | None = None) -> None:
        self.store = store
        self.is_served = made_at is None
        self.page_rows = PAGE_ROWS if self.is_served else sys.maxsize
        self.memory = Memory(store)
        self.timeline = Timeline(store)
        self.disturbances = Disturbances(store)
        self.highlighter = Highlighter()
        self.differ = Differ()
        self.templates = _environment()
        self.templates.globals["made_at"] = made_at

    def close(self) -> None:
        self.highlighter.close()
        self.differ.close()


@dataclass(frozen=True)
class PageContent:
    """Base of the pages' contents. Subclasses add fields for the layout."""

    value: Any
    """The page's JSON, or a function that makes it, which the page and its CSV don't call."""
    sheet: Iterable[Any] | None = field(default=None, kw_only=True)
    """All rows of the page's table, for its CSV: dataclasses or mappings. None if there is no CSV."""


class BadRequestError(Exception):
    """The request is invalid; the message says why, and how to fix it."""


class NotFoundError(Exception):
    """The database does not have what was requested; the message says what is missing."""


def of_request(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.site
    return found


SiteOf = Annotated[Site, Depends(of_request)]


def page(
    router: APIRouter, path: str, template: str, json_path: str | None = None
) -> Callable[[Callable[..., PageContent]], Callable[..., PageContent]]:
    """Decorates a function that returns an answer: adds the page at `path`, its JSON at `path` + `.json`, and its CSV at `.csv`."""
    beside = (json_path or f"{path}.json").removesuffix(".json")

    def add(answer: Callable[..., PageContent]) -> Callable[..., PageContent]:
        def as_html(request: Request, found: Annotated[PageContent, Depends(answer)]) -> Response:
            return HTMLResponse(render(request, template, found))

        def as_json(found: Annotated[PageContent, Depends(answer)]) -> Response:
            return Response(to_json(found), media_type=JSON)

        def as_csv(found: Annotated[PageContent, Depends(answer)]) -> Response:
            if found.sheet is None:
                raise NotFoundError("This page has no table. Use the JSON.")
            name = beside.replace("/{number:int}", "").strip("/")
            headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
            return StreamingResponse(csv_lines(found.sheet), media_type=CSV, headers=headers)

        router.add_api_route(path, as_html, methods=["GET"])
        router.add_api_route(f"{beside}.json", as_json, methods=["GET"])
        router.add_api_route(f"{beside}.csv", as_csv, methods=["GET"])
        return answer

    return add


def render(request: Request, template: str, found: object) -> str:
    """The HTML of an answer."""
    return of_request(request).templates.get_template(template).render(page=found, request=request, here=Here(request))


def to_json(found: "PageContent") -> str:
    """The JSON of an answer."""
    return dump(_plain(found.value() if callable(found.value) else found.value))


def link(path: str, given: Mapping[str, object] = MappingProxyType({}), /, **parameters: object) -> str:
    """A path with a query of these parameters and changes; None leaves a parameter out."""
    query = {name: storable_text(str(value)) for name, value in (dict(given) | parameters).items() if value is not None}
    return f"{path}?{urlencode(query)}" if query else path


class Here:
    """The address of the page being shown."""

    def __init__(self, request: Request) -> None:
        self.path = request.url.path
        self._given = dict(request.query_params)

    def but(self, **changes: object) -> str:
        """This page's address with other parameters; None removes one."""
        return link(self.path, self._given, **changes)

    @property
    def json(self) -> str:
        return self._beside("json")

    @property
    def csv(self) -> str:
        return self._beside("csv")

    def given(self, *names: str) -> dict[str, str]:
        """The given parameters that have a value in the address."""
        return {name: self._given[name] for name in names if self._given.get(name)}

    def _beside(self, ending: str) -> str:
        return link(f"/index.{ending}" if self.path == "/" else f"{self.path}.{ending}", self._given)


def _plain(value: Any) -> Any:
    """Values for JSON: keys become texts, and numbers that are not finite become their names, as in results."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _key(key: object) -> str:
    if isinstance(key, datetime):
        return key.isoformat()
    return f"{key:g}" if isinstance(key, float) else key.value if isinstance(key, Enum) else "" if key is None else str(key)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(link=link, doubt_mark=MARK)
    environment.globals.update(all_right_text=all_right_text, count_text=count_text)
    environment.globals.update(best_text=best_text, light_text=light_text, rank_text=rank_text, solved_text=solved_text)
    environment.globals.update(
        ablation_text=ablation_text, conditions_facts=conditions_facts, floor_text=floor_text, light_facts=light_facts, spells=spells
    )
    environment.globals.update(profile_facts=profile_facts, kernel_cells=kernel_cells, kernel_columns=KERNEL_COLUMNS)
    environment.globals.update(
        inputs_word=inputs_word,
        own_work_text=own_work_text,
        parameters_facts=parameters_facts,
        environment_facts=environment_facts,
        shape_words=shape_words,
        sides=sides,
        speedup_in=speedup_in,
        timing_facts=timing_facts,
    )
    environment.globals.update(pace=pace, scale=scale(), stretch=stretch, setting_text=setting_text)
    environment.globals.update(anchor=anchor, path_parts=path_parts, terms=TERMS)
    environment.filters.update(breakable=breakable, short=short, figure=figure, share=share, moment=moment)
    return environment


def _harmless(value: Any) -> Any:
    """The text that a template shows: empty for None, without characters that hide or reverse text. Escaping comes after."""
    if value is None:
        return ""
    return plain_block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def breakable(name: str) -> Markup:
    """A name that a browser may break only after `/` and `_`."""
    parts = re.split(r"(?<=[/_])(?=[^/_])", plain_block(name))
    return Markup("<wbr>").join(escape(part) for part in parts)


def short(text: str) -> str:
    """The beginning of a long text, and an ellipsis. live.js has the same."""
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]} …"


def path_parts(name: str) -> tuple[str, str]:
    """A name's folders, with the final slash, and the rest of the name."""
    folder, slash, rest = name.rpartition("/")
    return (folder + slash, rest) if rest else ("", name)


def setting_text(case: str | None, device_name: str, precision: str | None = None, protocol: str | None = None) -> str:
    """Where boards' results come from: `full · NVIDIA H200 · float16`. Usual values are left out."""
    usual = precision if precision != "own" else None
    return " · ".join(part for part in (case or "no case", device_name or "unknown device", usual, protocol) if part)


def figure(value: float | None, digits: int = 4) -> str:
    """A number with this many significant digits."""
    return "" if value is None else f"{value:.{digits}g}"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def moment(value: datetime | None) -> str:
    return "" if value is None else value.strftime("%Y-%m-%d %H:%M:%S")
