"""The file of `--junit`: a test suite for each problem and a test case for each submission, as CI systems read them.

It is written at the end of a run, also of an interrupted one, from the database. It includes already judged submissions.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import quoteattr

from command.exits import UsageError
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.display.text import plain_block, plain_line

if TYPE_CHECKING:
    from db.store import Store, StoredEvaluation

NOT_RUN = (Category.NO_DEVICE, Category.NO_TOOLCHAIN, Category.INTERRUPTED)
"""Categories of submissions that did not run."""
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
"""Characters that XML forbids, besides the control characters that `plain_block` removes."""


def outcome(category: Category) -> str | None:
    """The outcome of a test case: `failure` (the submission's fault), `error` (the machine's) or `skipped`; None for success."""
    if category.status is Status.CORRECT:
        return None
    if category.status is not Status.NOT_EVALUATED:
        return "failure"
    return "skipped" if category in NOT_RUN else "error"


class JUnitFile:
    """A file that appears only when it is complete."""

    def __init__(self, path: str) -> None:
        """Raises UsageError if it can't be written."""
        self.path = Path(path)
        self._numbers: dict[int, None] = {}
        if path == "-" or self.path.is_dir():
            raise UsageError(f"--junit {path}: must be a file")
        self._unfinished = self.path.with_name(self.path.name + ".part")
        try:
            self._unfinished.touch()
        except OSError as error:
            raise UsageError(f"--junit {path}: {error.strerror}") from error

    def add(self, number: int) -> None:
        """Add the evaluation with this number."""
        self._numbers[number] = None

    def write(self, store: "Store") -> None:
        """Write the evaluations that were added. Raises UsageError if writing fails, and StoreError."""
        from db.queries.ranking import chunks
        from db.queries.runs import of_ids

        suites: dict[str | None, list[tuple[str, int, Category, int]]] = defaultdict(list)
        for found in (each for some in chunks(list(self._numbers)) for each in of_ids(store, some)):
            suites[found.problem].append((found.submission, found.block or 0, Category(found.category), found.evaluation_id))
        try:
            with self._unfinished.open("w", encoding="utf-8") as file:
                file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
                counts = _counts([category for suite in suites.values() for *_, category, _ in suite])
                file.write(
                    f"<testsuites {' '.join(f'{name}={quoteattr(value)}' for name, value in counts.items() if name != 'skipped')}>\n"
                )
                for problem, members in sorted(suites.items(), key=lambda item: item[0] or ""):
                    file.write(_suite(store, problem, [number for *_, number in sorted(members)]) + "\n")
                file.write("</testsuites>\n")
            self._unfinished.replace(self.path)
        except OSError as error:
            raise UsageError(f"--junit {self.path}: {error.strerror}; the results are in the database") from error

    def close(self) -> None:
        """Remove an unfinished file."""
        self._unfinished.unlink(missing_ok=True)


def _suite(store: "Store", problem: str | None, numbers: list[int]) -> str:
    name = _attribute(problem or "(no problem)")
    suite = Element("testsuite", name=name)
    categories, duration_s = [], 0.0
    for number in numbers:
        stored = store.get(number)
        assert stored is not None, "what is stored stays"
        suite.append(_case(stored, name))
        categories.append(stored.result.category)
        duration_s += stored.result.duration_s
    suite.attrib |= _counts(categories) | {"time": f"{duration_s:.3f}"}
    indent(suite)
    return tostring(suite, encoding="unicode")


def _case(stored: "StoredEvaluation", problem: str) -> Element:
    from evaluator.diagnosis.feedback import feedback

    result = stored.result
    name = result.submission if result.block is None else f"{result.submission} [{result.block}]"
    case = Element("testcase", name=_attribute(name), classname=problem, time=f"{result.duration_s:.3f}")
    told = feedback(result, stored.source, result.evidence.first_line).text
    if result.hint and result.hint not in told:
        told = f"what to do: {result.hint}\n{told}"
    kind = outcome(result.category)
    if kind is None:
        SubElement(case, "system-out").text = _allowed(told)
    else:
        message = _attribute(result.message or CATEGORIES[result.category].meaning)
        SubElement(case, kind, type=result.category.value, message=message).text = _allowed(told)
    return case


def _counts(categories: list[Category]) -> dict[str, str]:
    outcomes = [outcome(category) for category in categories]
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    return {"tests": str(len(outcomes)), **{name: str(outcomes.count(kind)) for name, kind in kinds.items()}}


def _attribute(text: str) -> str:
    return _allowed(plain_line(text))


def _allowed(text: str) -> str:
    return _NO_CHARACTERS.sub(lambda match: f"\\u{ord(match.group()):04x}", plain_block(text))
