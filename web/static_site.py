"""The pages as files, which any web server shows, and a browser without one (`assay export --site`).

The application answers in this process: `/`, and each address that a page links to. Links lead from file to file. A link to what needs a
server (`SERVED_ONLY`, JSON, CSV) becomes plain text. Tables have all their rows, and `sort.js` sorts them.
"""

import asyncio
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, urlsplit

from httpx import ASGITransport, AsyncClient

from db.error import StoreError
from db.store import Store
from evaluator.results.display.progress import Work, long_work, uninterrupted
from evaluator.results.result import now
from web.app import create_app
from web.site import link

SERVED_ONLY = frozenset({"/search", "/live", "/compare", "/authors/compare", "/runs/compare"})
DATA = frozenset({".json", ".csv"})
SORTING = frozenset({"sort", "order"})
"""Parameters that `sort.js` reads: they choose no other file."""
LIST = ".assay-site"
"""A file with the names of all others, by which an earlier export is known."""
UNFINISHED = ".unfinished-"
"""Begin of the name of an export's own folder while it writes. An export that was killed leaves it behind."""
MAX_STEM = 150
"""Characters of a file's name, which file systems limit to 255."""
_LINKS = frozenset({"href", "src", "srcset"})
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")


def write(store: Store, folder: Path) -> int:
    """Write all pages, and what they show, into the folder. Returns the number of files.

    The folder is new, empty or an earlier export, which is replaced once the new one is complete. Raises StoreError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _require_own(folder)
        for path in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(path)
        with TemporaryDirectory(prefix=UNFINISHED, dir=folder) as scratch, long_work("Writing") as work:
            new, old = Path(scratch, "new"), Path(scratch, "old")
            new.mkdir()
            old.mkdir()
            names = asyncio.run(_write_files(store, new, work))
            (new / LIST).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
            with uninterrupted():
                _require_own(folder)
                _exchange(folder, new, old)
    except OSError as error:
        raise StoreError(f"{folder} can't be the site's folder: {error.strerror}.") from error
    return len(names)


def _exchange(folder: Path, new: Path, old: Path) -> None:
    """Move the folder's files to `old`, and those of `new` to the folder: all of them or, with OSError, none."""
    moves = [(path, old / path.name) for path in folder.iterdir() if not path.name.startswith(UNFINISHED)]
    moves += [(path, folder / path.name) for path in new.iterdir()]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            source.rename(target)
            done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            target.rename(source)
        raise


def _require_own(folder: Path) -> None:
    """Raise StoreError if the folder has a file that no export wrote."""
    known = {LIST}
    if (folder / LIST).is_file():
        known |= set((folder / LIST).read_text(encoding="utf-8", errors="replace").splitlines())
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name not in known and not name.startswith(UNFINISHED) and (path.is_symlink() or not path.is_dir()):
            raise StoreError(f"{folder} has {name}, which no export wrote. Name a new or empty folder, or only an earlier export.")


async def _write_files(store: Store, folder: Path, work: Work) -> list[str]:
    """Write every file that can be reached from `/`. Returns their names."""
    app = create_app(store, made_at=now())
    # A fault of the database ends the export: it is no page.
    del app.exception_handlers[StoreError]
    files = Files()
    files.link("/", "")
    client = AsyncClient(transport=ASGITransport(app), base_url="http://assay")
    async with app.router.lifespan_context(app), client:
        for address, name in files:
            answer = await client.get(address)
            content = answer.content
            if name.endswith(".html"):
                content = _relinked(answer.text, partial(files.link, page=name)).encode()
            work.total = len(files)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            work.advance()
    return [name for _, name in files]


class Files:
    """The files of addresses. Iteration also yields those that are added meanwhile."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._addresses: list[str] = []
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._addresses)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for address in self._addresses:
            yield address, self._names[address]

    def link(self, target: str, page: str) -> str | None:
        """The link from a page's file to the target's file, which is added if it is new. None if the target needs a server."""
        parts = urlsplit(target)
        if not parts.path or parts.netloc:
            return target
        if parts.path in SERVED_ONLY or PurePosixPath(parts.path).suffix in DATA:
            return None
        query = sorted(parse_qsl(parts.query, keep_blank_values=True))
        choosing = {name: value for name, value in query if name not in SORTING}
        address = link(parts.path, choosing)
        if address not in self._names:
            self._addresses.append(address)
            self._names[address] = self._new_name(parts.path, choosing)
        file = posixpath.relpath(self._names[address], posixpath.dirname(page))
        return link(file, {name: value for name, value in query if name in SORTING}) + (f"#{parts.fragment}" if parts.fragment else "")

    def _new_name(self, path: str, query: dict[str, str]) -> str:
        """A name of its own, also where upper and lower case are one. Names of strangers keep only letters, digits, `.` and `_`."""
        address = PurePosixPath(path.strip("/") or "index")
        stem, ending = str(address.with_suffix("")), address.suffix or ".html"
        if query:
            words = " ".join(value if name == "name" else f"{name} {value}" for name, value in query.items())
            stem += "/" + (_UNSAFE.sub("-", words).strip("-.")[:MAX_STEM] or "_")
        name, number = f"{stem}{ending}", 1
        while name.lower() in self._taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        self._taken.add(name.lower())
        return name


def _relinked(page: str, change: Callable[[str], str | None]) -> str:
    """The page with other links. None removes a link's address: what remains is plain text."""
    changed = _Relinked(change)
    changed.feed(page)
    changed.close()
    return "".join(changed.parts)


class _Relinked(HTMLParser):
    """Collects a page's parts as they are, except for links."""

    def __init__(self, change: Callable[[str], str | None]) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._change = change

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not any(name in _LINKS for name, _ in attrs):
            self.parts.append(self.get_starttag_text() or "")
            return
        changed = [(name, self._change(value) if name in _LINKS and value else value or "") for name, value in attrs]
        kept = "".join(f' {name}="{escape(value)}"' for name, value in changed if value is not None)
        self.parts.append(f"<{tag}{kept}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_entityref(self, name: str) -> None:
        self.parts.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.parts.append(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")
