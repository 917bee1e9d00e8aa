"""The index of texts: which sources, messages and names of kernels may contain a word.

PostgreSQL indexes the words between characters other than letters and digits, and finds a word by its beginning: `kern` finds
`softmax_kernel`, but `max_kernel` does not. These indices belong to the tables. SQLite indexes each three characters, and so finds any part
of a word. Its indices are tables of FTS5, which triggers keep.

A SQLite without FTS5 can't write where such triggers are. Opening a database for writing therefore removes them, and the next SQLite with
FTS5 makes them and the index again.
"""

import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, column, func, select, table, text

from db.schema.models import words_of

READ = 20_000
"""Maximum texts that one search reads: the latest ones that the index names, or the latest of all if it can't help."""
_PART = 2000
"""Texts that one statement reads."""
_KEYS = {"sources": "id", "search_texts": "evaluation_id"}
_CHANGES = {"insert": "INSERT", "update": "UPDATE OF text", "delete": "DELETE"}
_TRIGGERS = {f"{name}_index_{change}" for name in _KEYS for change in _CHANGES}
_OLDEST_WITH_TRIGRAMS = (3, 34)


def is_due(connection: Connection) -> bool:
    """Whether `make` has work to do: the triggers don't fit this SQLite. Databases of older revisions have no table for it."""
    if connection.dialect.name != "sqlite":
        return False
    found = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')").scalars())
    return _KEYS.keys() <= found and found & _TRIGGERS != (_TRIGGERS if _has_trigrams(connection) else set())


def make(connection: Connection) -> None:
    """Make SQLite's index and its triggers, or remove the triggers if this SQLite has no FTS5; nothing if they fit."""
    if not is_due(connection):
        return
    for name in _TRIGGERS:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
    if not _has_trigrams(connection):
        return
    for name, key in _KEYS.items():
        index = f"{name}_index"
        options = f"content='{name}', content_rowid='{key}', tokenize='trigram', detail='none'"
        add = f"INSERT INTO {index}(rowid, text) VALUES (new.{key}, new.text);"
        # FTS5 keeps no text, so that it has to be told what it indexed.
        remove = f"INSERT INTO {index}({index}, rowid, text) VALUES ('delete', old.{key}, old.text);"
        connection.exec_driver_sql(f"CREATE VIRTUAL TABLE IF NOT EXISTS {index} USING fts5(text, {options})")
        connection.exec_driver_sql(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
        for change, statements in (("insert", add), ("update", f"{remove} {add}"), ("delete", remove)):
            body = f"AFTER {_CHANGES[change]} ON {name} BEGIN {statements} END"
            connection.exec_driver_sql(f"CREATE TRIGGER {index}_{change} {body}")


def latest(connection: Connection, key: Any, texts: Any, words: Sequence[str], limit: int) -> list[int]:
    """The keys of the latest texts that contain all words, which have no NUL, in any case. texts: a column that has an index."""
    if connection.dialect.name == "sqlite":
        # SQLite's LIKE ignores case by itself.
        contains, candidates = texts.contains, _by_trigrams(connection, key, words)
    else:
        contains, candidates = texts.icontains, _by_words(connection, key, words)
    if candidates is None:
        candidates = select(key).where(key > select(func.max(key)).scalar_subquery() - READ).order_by(key.desc())
    # In one statement, the database would choose by itself what to read first.
    keys = connection.execute(candidates.limit(READ)).scalars().all()
    found: list[int] = []
    for first in range(0, len(keys), _PART):
        some = keys[first : first + _PART]
        query = select(key).where(key.between(some[-1], some[0]), key.in_(some))
        found += connection.execute(query.where(*(contains(word, autoescape=True) for word in words))).scalars()
        if len(found) >= limit:
            break
    return sorted(found, reverse=True)[:limit]


def _by_trigrams(connection: Connection, key: Any, words: Sequence[str]) -> Select[Any] | None:
    threes = dict.fromkeys(word[place : place + 3] for word in words for place in range(len(word) - 2))
    # A quoted text is never an operator.
    quoted = ['"' + three.replace('"', '""') + '"' for three in threes]
    if not quoted or is_due(connection) or not _has_trigrams(connection):
        return None
    index = table(f"{key.table.name}_index", column("rowid"))
    match = text(f"{index.name} MATCH :threes").bindparams(threes=" ".join(quoted))
    return select(index.c.rowid).where(match).order_by(index.c.rowid.desc())


def _by_words(connection: Connection, key: Any, words: Sequence[str]) -> Select[Any] | None:
    pieces = [found for word in words if (found := re.findall("[A-Za-z0-9]+", word))]
    if not pieces:
        return None
    # To make the words of each text again, as other plans do, takes a thousand times as long.
    for setting in ("enable_seqscan = off", "enable_indexscan = off", "work_mem = '64MB'"):
        connection.exec_driver_sql(f"SET LOCAL {setting}")
    wanted = " & ".join(" & ".join([*found[:-1], f"{found[-1]}:*"]) for found in pieces)
    match = text(f"{words_of(f'{key.table.name}.text')} @@ to_tsquery('simple', :words)").bindparams(words=wanted)
    return select(key).where(match).order_by((key + 0).desc())


def _has_trigrams(connection: Connection) -> bool:
    modules = connection.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
    return modules.first() is not None and sqlite3.sqlite_version_info >= _OLDEST_WITH_TRIGRAMS
