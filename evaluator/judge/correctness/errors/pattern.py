"""The pattern of an output's wrong elements, such as whole rows or a tile: it often shows the cause."""

import math

import torch

from evaluator.judge import limits
from evaluator.results.evidence.rounds import EVERYTHING

EVERYTHING_SHARE = 0.98
"""Share of an output, or of its lines, that counts as all of it: a few elements of a wrong output are right by chance."""
MAX_POSITIONS = 4096
"""Maximum number of positions that are searched for a stride."""
MAX_LINES = 1 << 22
"""Wrong rows or columns are recorded up to this number of all rows or columns."""
DENSE = 64
"""If more than one in this many elements is wrong, whole rows are recorded instead of each wrong element."""
MAX_STEPS = 4096
"""Maximum number of different distances between lines for which a period is searched."""


class ErrorPattern:
    """Collects wrong positions, chunk by chunk in row-major order, and names their pattern."""

    def __init__(self, shape: torch.Size) -> None:
        self._elements = shape.numel()
        columns = shape[-1] if len(shape) > 1 else 0
        rows = self._elements // columns if columns else 0
        self._columns, self._rows = (columns, rows) if columns > 1 and rows > 1 and max(rows, columns) <= MAX_LINES else (0, 0)
        self._row_hits: torch.Tensor | None = None
        self._column_hits: torch.Tensor | None = None
        self._count = 0
        self._first: int | None = None
        self._last = -1
        self._positions: list[int] = []

    def add(self, start: int, wrong: torch.Tensor) -> None:
        """`wrong`: bool, shape (n,): elements from position `start` on."""
        if self._columns and start % self._columns == 0 and len(wrong) % self._columns == 0:
            count = int(wrong.sum())
            if count * DENSE > len(wrong):
                self._add_lines(start, wrong.view(-1, self._columns), count)
                return
        positions = wrong.nonzero().flatten()
        if not len(positions):
            return
        if self._first is None:
            self._first = start + int(positions[0])
        self._last = start + int(positions[-1])
        self._count += len(positions)
        if self._columns:
            self._hit(positions + start)
        room = MAX_POSITIONS - len(self._positions)
        self._positions += (positions[:room] + start).tolist() if room > 0 else []

    def _add_lines(self, start: int, lines: torch.Tensor, count: int) -> None:
        """Add whole rows with `count` wrong elements, without a list of these."""
        rows, columns = self._hits(lines.device)
        first_row = start // self._columns
        hits = lines.any(1)
        rows[first_row : first_row + len(lines)] |= hits
        columns |= lines.any(0)
        hit = hits.nonzero().flatten()
        first, last = int(hit[0]), int(hit[-1])
        if self._first is None:
            self._first = start + first * self._columns + int(lines[first].nonzero()[0])
        self._last = start + last * self._columns + int(lines[last].nonzero()[-1])
        self._count += count
        room = MAX_POSITIONS - len(self._positions)
        if room > 0:
            positions = lines[hit[:room]].nonzero()[:room]  # each of these rows has at least one
            self._positions += (start + hit[positions[:, 0]] * self._columns + positions[:, 1]).tolist()

    def _hit(self, positions: torch.Tensor) -> None:
        rows, columns = self._hits(positions.device)
        rows[positions // self._columns] = True
        columns[positions % self._columns] = True

    def _hits(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Masks of the rows and of the columns with wrong elements."""
        if self._row_hits is None or self._column_hits is None:
            self._row_hits = torch.zeros(self._rows, dtype=torch.bool, device=device)
            self._column_hits = torch.zeros(self._columns, dtype=torch.bool, device=device)
        return self._row_hits, self._column_hits

    def describe(self) -> str:
        """The pattern in words; empty if nothing was wrong."""
        if self._first is None:
            return ""
        if self._count >= EVERYTHING_SHARE * self._elements:
            return EVERYTHING
        if self._count == self._last - self._first + 1 and self._count > 1:
            return f"a tail of {self._count}" if self._last == self._elements - 1 else f"one stretch of {self._count}"
        if self._count > 1 and (lines := self._lines()):
            return lines
        stride = math.gcd(*(after - before for before, after in zip(self._positions, self._positions[1:], strict=False)))
        if stride > 1 and self._count > 2:
            return f"a stride of {stride}"
        return "isolated" if self._count <= max(1, limits.ISOLATED_SHARE * self._elements) else f"scattered{self._where()}"

    def _lines(self) -> str:
        """The pattern if nearly all of some columns of some rows are wrong, and nothing else; else empty."""
        if self._row_hits is None or self._column_hits is None:
            return ""
        rows, columns = _RowsOrColumns(self._row_hits), _RowsOrColumns(self._column_hits)
        if self._count < EVERYTHING_SHARE * rows.count * columns.count:
            return ""
        if columns.is_all:
            return f"{rows.count} whole rows: {rows.describe()}"
        if rows.is_all:
            return f"{columns.count} whole columns: {columns.describe()}"
        return f"a tile: columns {columns.describe()}; rows {rows.describe()}" if min(rows.count, columns.count) > 1 else ""

    def _where(self) -> str:
        """The rows or columns that contain them, if these are at most half of all."""
        if self._row_hits is None or self._column_hits is None:
            return ""
        parts = [(name, _RowsOrColumns(hits)) for name, hits in (("rows", self._row_hits), ("columns", self._column_hits))]
        return "".join(f", in {lines.count} {name}: {lines.describe()}" for name, lines in parts if 2 * lines.count <= lines.total)


class _RowsOrColumns:
    """Some of the rows or columns of a matrix."""

    def __init__(self, hits: torch.Tensor) -> None:
        found = hits.nonzero().flatten()
        self.total, self.count = len(hits), len(found)
        self._first, self._last = int(found[0]), int(found[-1])
        steps = torch.unique(found[1:] - found[:-1])
        self._step = math.gcd(*steps.tolist()) if len(steps) <= MAX_STEPS else 1
        self.is_all = self.count == self.total

    def describe(self) -> str:
        if self.count == 1:
            return str(self._first)
        if self.count == self._last - self._first + 1:
            if self._last == self.total - 1:
                return f"the last {self.count}"
            return f"the first {self.count}" if self._first == 0 else f"{self._first} to {self._last}"
        if self._step > 1 and self.count == (self._last - self._first) // self._step + 1:
            return f"one in {self._step} from {self._first} on"
        return f"between {self._first} and {self._last}"
