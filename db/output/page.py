"""The leaderboards as one self-contained HTML file: no script, no network, readable on a phone, dark or light as the reader's system.

Names and messages come from strangers, so every text is escaped, and the page forbids the browser to run or load anything.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby

from db.queries.leaderboard import Failures, LeaderboardRow, failures, leaderboard
from db.queries.overall import OverallBoard, overall
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from db.store import Store
from evaluator.results.category import CATEGORIES
from evaluator.results.display.figures import light_text, rank_text
from evaluator.results.display.text import plain_line

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 75rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }
div { overflow-x: auto; } div:focus-visible, a:focus-visible { outline: 2px solid Highlight; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid color-mix(in srgb, CanvasText 20%, Canvas); padding: .3rem .6rem; text-align: left; }
th { white-space: nowrap; } td { overflow-wrap: anywhere; }
.n { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
nav a { margin-right: 1rem; } footer { margin-top: 2rem; opacity: .75; }
"""


def page(store: Store) -> str:
    """The page as text. Raises StoreError if the database can't be read."""
    rows = leaderboard(store)
    made = datetime.now(UTC).isoformat(sep=" ", timespec="minutes")
    parts = [
        _section("overall", "All problems", map(_overall, overall(store))),
        _section("boards", "Leaderboards", _boards(rows)),
        _section("failures", "Failures by cause", [_failures(failures(store))]),
    ]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in _SECTIONS.items())
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>Assay leaderboard</title><style>{_STYLE}</style></head>\n"
        f"<body><header><h1>Assay leaderboard</h1><nav>{links}</nav></header>\n<main>{''.join(parts)}</main>\n"
        f"<footer>{store.count()} evaluations; made {made}.</footer></body></html>\n"
    )


_SECTIONS = {"overall": "All problems", "boards": "Leaderboards", "failures": "Failures"}


def _section(name: str, title: str, parts: Iterable[str]) -> str:
    return f'<section id="{name}" aria-label="{title}">{"".join(parts)}</section>\n'


def _overall(board: OverallBoard) -> str:
    ks = [k for k in PASS_AT if any(k in row.pass_at for row in board.rows)]
    columns = [".rank", "author", ".solved", *(f".fast_{p:g}" for p in FAST_P), ".mean speedup", *(f".pass@{k}" for k in ks)]
    columns += [".gold", ".silver", ".bronze", ".tasks tried", ".samples", "most frequent failures"]
    lines = [
        [rank_text(row.rank, row.shared), row.author or "(no author)", row.solved]
        + [*(f"{row.fast[p]:.1%}" for p in FAST_P), f"{row.geometric_mean:.3f}"]
        + [f"{row.pass_at[k]:.1%}" if k in row.pass_at else "" for k in ks]
        + [*row.medals, row.attempted, row.samples]
        + [", ".join(f"{item.category.value} {item.count}" for item in row.failures.counts[:3])]
        for row in board.rows
    ]
    title = f"All problems · {board.case or 'no case'} · {board.device_name or 'unknown device'} · {board.tasks_text}"
    note = f"<p>The mean is geometric; an unsolved task counts {FAILURE_SPEEDUP:g}.</p>"
    return _table(title, columns, lines) + note


def _boards(rows: Sequence[LeaderboardRow]) -> Iterable[str]:
    if not rows:
        yield "<p>Nothing is ranked yet.</p>"
    for (problem, case, device, precision), members in groupby(
        rows, key=lambda row: (row.problem, row.case, row.device_name, row.precision)
    ):
        title = " · ".join(
            [problem, case or "no case", device or "unknown device", *([precision] if precision not in (None, "own") else [])]
        )
        columns = [
            ".rank",
            ".speedup",
            ".95 % interval",
            ".runtime ms",
            ".baseline ms",
            ".of light (baseline)",
            "author",
            "submission",
            ".block",
            ".evaluation",
        ]
        lines = [
            [
                rank_text(row.rank, row.shared),
                f"{row.speedup:.3f}",
                "" if row.speedup_low == row.speedup_high else f"{row.speedup_low:.3f}–{row.speedup_high:.3f}",
                f"{row.runtime_ms:.4g}",
                f"{row.baseline_ms:.4g}",
                light_text(row.speed_of_light, row.baseline_speed_of_light),
                row.author,
                row.submission,
                row.block,
                row.evaluation_id,
            ]
            for row in members
        ]
        yield _table(title, columns, lines)


def _failures(found: Failures) -> str:
    lines = [
        [item.status.value, item.category.value, CATEGORIES[item.category].meaning, item.count, f"{item.count / found.evaluations:.1%}"]
        for item in found.counts
    ]
    return _table(f"Not correct/ok, of {found.evaluations} evaluations", ["status", "category", "meaning", ".count", ".share"], lines)


def _table(title: str, columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """An HTML table. A dot before a column's name marks numbers."""
    classes = [' class="n"' if name.startswith(".") else "" for name in columns]
    head = "".join(f'<th scope="col"{kind}>{_text(name.removeprefix("."))}</th>' for name, kind in zip(columns, classes, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{_text(value)}</td>" for value, kind in zip(line, classes, strict=True)) + "</tr>\n" for line in lines
    )
    # On a narrow screen the frame scrolls, also by keyboard.
    frame = f'<div tabindex="0" role="region" aria-label="{_text(title)}">'
    return f"<h2>{_text(title)}</h2>\n{frame}<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"


def _text(value: object) -> str:
    return "" if value is None else escape(plain_line(str(value)))
