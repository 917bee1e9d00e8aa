"""Shows the progress of long work: a bar on a terminal, with notes above; elsewhere lines on standard error.

Each note is a line, and every PIPED_EVERY_S seconds one tells how far the work is.
"""

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from evaluator.results.display.figures import about_text, clock_text
from evaluator.results.display.pace import Pace
from evaluator.results.display.screen import Screen
from evaluator.results.display.table import shortened

PIPED_EVERY_S = 10.0
"""Seconds between two progress lines, if there is no terminal."""
SHORT_S = 1.0
"""Work of at most so many seconds shows no bar, by default."""
LEAST_BAR = 8
"""Minimum width of the bar in columns; with less room there is no bar."""
BETWEEN = " · "


class Work:
    """Long work under way. Its methods may be called from any thread."""

    def __init__(self, what: str, total: int | None, colours: Mapping[str, str]) -> None:
        self._what, self._colours = what, colours
        self._started_s = time.monotonic()
        self._done = self._due_done = self._drawn_due = self._free = 0
        self._draws = False
        self.total, self.doing = total, ""
        self.console: Console | None = None
        """The bar's console while the bar is shown, else None."""
        self._noting = threading.Lock()
        self._early: list[tuple[Text, str]] = []
        self._show: Callable[[Text, str], None] | None = None
        self.pace = Pace()
        self.tallies: Counter[str] = Counter()

    def advance(self, count: int = 1, *, free: bool = False) -> None:
        """Count items as done; `free`: they took no time."""
        self._done += count
        if self.total is not None:
            self.total = max(self.total, self._done)
        if not free:
            self._due_done += count
            self.pace.done(count)

    def drew(self, due: int, free: int) -> None:
        """Classify items: `due` take time, `free` take none. If this is never called, all items take time."""
        self._draws = True
        self._drawn_due += due
        self._free += free
        self.pace.drew(due, free)

    def note(self, line: Text) -> None:
        """Print a line with the number of items done: above the bar, or on standard error. Notes of short work are not printed."""
        each = Text.assemble(f"{self._count('/')} ", line), f"{self._head()}: {self._count(' of ')} done; {line.plain}"
        with self._noting:
            if self._show is None:
                self._early.append(each)
            else:
                self._show(*each)

    def show_notes(self, show: Callable[[Text, str], None]) -> None:
        """From now on pass each note to `show`, as text for a terminal and as a line; first those made so far."""
        with self._noting:
            for each in self._early:
                show(*each)
            self._early, self._show = [], show

    def figures(self) -> list[str]:
        """Items done, time taken, and time left if known."""
        left_s = self._left_s()
        return [
            self._count("/"),
            clock_text(time.monotonic() - self._started_s),
            *([f"{about_text(left_s)} left"] if left_s is not None else []),
        ]

    def line(self) -> str:
        """All of the progress, in one line."""
        left_s = self._left_s()
        parts = [f"{self._count(' of ')} done" + (f", about {about_text(left_s)} left" if left_s is not None else "")]
        parts += [BETWEEN.join(f"{name} {count}" for name, count in self.tallies.most_common()), self.doing]
        return f"{self._head()}: {'; '.join(part for part in parts if part)}"

    def _count(self, of: str) -> str:
        return f"{self._done}{of}{self.total}" if self.total is not None else str(self._done)

    def _head(self) -> str:
        what = f"{self._what}, " if self._what else ""
        return f"{what}{time.monotonic() - self._started_s:.0f} s"

    def _left_s(self) -> float | None:
        if self.total is None:
            return None
        if not self._draws:
            return self.pace.left_s(max(self.total - self._done, 0))
        unknown = self.total - self._drawn_due - self._free
        return self.pace.left_s(max(self._drawn_due - self._due_done, 0), max(unknown, 0))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, figures = options.max_width, self.figures()
        if cell_len(BETWEEN.join(figures)) > width:
            del figures[1]
        text = BETWEEN.join(figures)
        room = width - cell_len(text) - 1
        if self._what and room - cell_len(self._what) - 1 >= LEAST_BAR:
            yield Text(f"{self._what} ", end="")
            room -= cell_len(self._what) + 1
        if room >= LEAST_BAR:
            yield from console.render(ProgressBar(self.total, self._done, room, pulse=self.total is None), options.update(width=room))
            yield Text(" ", end="")
        yield Text(text)
        yield from _packed([Text(f"{name} {count}", self._colours.get(name, "")) for name, count in self.tallies.most_common()], width)
        if self.doing:
            yield Text(shortened(self.doing, width), "dim", no_wrap=True)


@contextmanager
def long_work(
    what: str,
    total: int | None = None,
    *,
    screen: Screen | None = None,
    after_s: float = SHORT_S,
    beside_output: bool = False,
    colours: Mapping[str, str] | None = None,
) -> Iterator[Work]:
    """Show the progress of the work in the body of `with`, and clear it at the end, also after an exception.

    what: a few words for the work. total: number of its items, None if not known yet. screen: where the bar is drawn; standard error by
    default. after_s: the bar appears after so many seconds. beside_output: whether the body writes standard output; then no bar is drawn
    if both go to a terminal. colours: styles of the tallies, by their names.
    """
    screen = screen or Screen(stderr=True)
    work = Work(what, total, colours or {})
    bar = screen.is_terminal and screen.console.is_interactive and not (beside_output and screen.console.stderr and sys.stdout.isatty())
    with _Bar(work, screen.console, after_s) if bar else _Lines(work, after_s):
        yield work


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of `with`: Rich, interrupted as it begins or ends, leaves the cursor hidden or draws once more."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    pressed: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: pressed.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if pressed:
            usual(signal.SIGINT, pressed[0])


class _Bar:
    """Draws the bar on a terminal."""

    def __init__(self, work: Work, console: Console, after_s: float) -> None:
        self._work, self._console, self._after_s = work, console, after_s
        # Other output to the terminal is printed above the bar. Standard output must not be redirected to standard error, nor a log's file
        # to the terminal.
        takes_stdout, takes_stderr = not console.stderr, sys.stderr.isatty()
        self._live = Live(work, console=console, transient=True, redirect_stdout=takes_stdout, redirect_stderr=takes_stderr)
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._waiting = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> None:
        if self._after_s:
            self._waiting.start()
            return
        try:
            self._start()
        except BaseException:  # Ctrl-C: `with` ends only what has begun
            self.__exit__()
            raise

    def __exit__(self, *_error: object) -> None:
        with uninterrupted():
            self._over.set()
            with self._changing:
                self._work.console = None
                if self._live.is_started:
                    self._live.stop()
                    self._console.show_cursor(True)

    def _wait(self) -> None:
        self._over.wait(self._after_s)
        self._start()

    def _start(self) -> None:
        with self._changing:
            if not self._over.is_set():
                with uninterrupted():
                    self._live.start(refresh=True)
                self._work.console = self._console
                self._work.show_notes(lambda text, _: self._console.print(text))


class _Lines:
    """Prints progress lines until their reader is gone.

    It does not use Rich, which closes standard output for the whole process when the reader is gone.
    """

    def __init__(self, work: Work, after_s: float) -> None:
        self._work, self._after_s = work, after_s
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> None:
        self._teller.start()

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._teller.join(1.0)

    def _tell(self) -> None:
        if self._over.wait(min(self._after_s, PIPED_EVERY_S)):
            return
        self._work.show_notes(lambda _, line: self._print(line))
        while not self._over.wait(PIPED_EVERY_S):
            self._print(self._work.line())

    def _print(self, line: str) -> None:
        try:
            if not self._over.is_set():
                print(line, file=sys.stderr, flush=True)  # noqa: T201
        except (OSError, ValueError):
            self._over.set()


def _packed(parts: list[Text], width: int) -> Iterator[Text]:
    """Join the parts into lines of at most `width` columns, if each part fits."""
    line = Text()
    for part in parts:
        if line and line.cell_len + cell_len(BETWEEN) + part.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, BETWEEN if line else "", part)
    if line:
        yield line
