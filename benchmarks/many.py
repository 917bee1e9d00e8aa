"""How the pipeline bears very many submissions: when the first is judged, and what memory and time the command line itself takes.

    python -m benchmarks.many [--count N] [--form folder|bundle] [--what mixed|rejected] [--seconds S] [--again] [--json FILE]

Generates a trivial problem and N distinct answers to it, and runs `pipeline.py` on them with an empty database and `--case small` on the
CPU. After S seconds the run is interrupted as by Ctrl-C; what was stored by then is counted. Of the mixed ones half are right, the others
wrong, raise an exception, or can't be read; the rejected ones all lack the class, so that reading and storing is all there is to do.
`--again` runs the same command once more when the first run came to its end: all is judged already.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parents[1]
POLL_S = 0.05
ENDS_WITHIN_S = 120.0
FIRST_TARGET_S, MEMORY_TARGET_BYTES = 5.0, 1 << 30

PROBLEM = """\
import torch
from torch import nn

ASSAY = {"cases": {"full": {}, "small": {"rows": 4}}}
rows = 1024


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.rand(rows, 16)]


def get_init_inputs():
    return []
"""
ANSWER = """\
import torch
from torch import nn


class ModelNew(nn.Module):
    # Answer {number}
    def forward(self, x):
        return {value}
"""
VALUES = ("x + x", "x + x * 1.01", "x + x", "x.no_such_method()")
"""What the answers return, in turns."""
UNREADABLE_EACH = 10


@dataclass
class Figures:
    """What was seen of one run."""

    run: str
    submissions: int
    under_way_s: float | None = None
    """From the start of the command to the start of the first judgement that ended."""
    first_result_s: float | None = None
    """To the first record of one that was not merely rejected."""
    wall_s: float = 0.0
    interrupted: bool = False
    results: int = 0
    """Records that it wrote."""
    rows: int = 0
    """Rows in the database afterwards."""
    categories: dict[str, int] = field(default_factory=dict)
    parent_peak_bytes: int = 0
    """Resident memory of the command line itself."""
    parent_cpu_s: float = 0.0
    load_average: float = 0.0
    """Of the machine when the run ended."""

    @property
    def parent_cpu_ms_each(self) -> float:
        """Processor time of the command line for each result, or for each submission where all had been judged before; start included."""
        return self.parent_cpu_s * 1e3 / max(self.results or self.submissions, 1)


def answers(count: int, what: str) -> Iterator[str]:
    """So many distinct sources."""
    for number in range(count):
        if what == "rejected" or number % UNREADABLE_EACH == UNREADABLE_EACH - 1:
            yield f"# Answer {number} has no class\n"
        else:
            yield ANSWER.format(number=number, value=VALUES[number % len(VALUES)])


def generate(root: Path, count: int, form: str, what: str) -> Path:
    """Write problem and answers below `root`; returns what to hand to the command line."""
    (root / "problems").mkdir()
    (root / "problems" / "twice.py").write_text(PROBLEM)
    if form == "bundle":
        with (root / "answers.jsonl").open("w") as file:
            for source in answers(count, what):
                file.write(json.dumps({"problem": "twice", "code": source}) + "\n")
        return root / "answers.jsonl"
    folder = root / "twice"
    folder.mkdir()
    for number, source in enumerate(answers(count, what)):
        (folder / f"{number:07}.py").write_text(source)
    return folder


class Watch(threading.Thread):
    """Looks at one process every now and then: its peak of memory, its processor time."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.peak_bytes, self.cpu_s = 0, 0.0

    def run(self) -> None:
        try:
            while True:
                self.peak_bytes = max(self.peak_bytes, self.process.memory_info().rss)
                times = self.process.cpu_times()
                self.cpu_s = times.user + times.system
                time.sleep(POLL_S)
        except psutil.Error:
            return


def measure(
    root: Path, target: Path, figures: Figures, seconds: float | None, tell: Callable[[int], None], stop_at: int | None = None
) -> None:
    """Run the command line on `target` and note what is seen; it is interrupted after so many seconds, or so many results."""
    database = root / "results.db"
    command = [sys.executable, str(PROJECT / "pipeline.py"), str(target), "--reference", str(root / "problems"), "--device", "cpu"]
    command += ["--case", "small", "--db", f"sqlite:///{database}", "--json", "-"]
    start, started_at = time.monotonic(), time.time()
    environment = {**os.environ, "ASSAY_CACHE": str(root / "cache")}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        watch = Watch(process.pid)
        watch.start()
        timer = threading.Timer(seconds or 0.0, lambda: process.send_signal(signal.SIGINT))
        timer.daemon = True
        if seconds is not None:
            timer.start()
        counts: Counter[str] = Counter()
        assert process.stdout is not None
        for line in process.stdout:
            record = json.loads(line)
            if figures.first_result_s is None and record["status"] != "rejected":
                figures.first_result_s = time.monotonic() - start
                figures.under_way_s = datetime.fromisoformat(record["started_at"]).timestamp() - started_at
            counts[record["category"]] += 1
            figures.results += 1
            tell(figures.results)
            if figures.results == stop_at:
                process.send_signal(signal.SIGINT)
        figures.interrupted = process.wait(ENDS_WITHIN_S) == 130
        timer.cancel()
    figures.wall_s = time.monotonic() - start
    figures.categories = dict(counts.most_common())
    figures.parent_peak_bytes, figures.parent_cpu_s = watch.peak_bytes, watch.cpu_s
    figures.load_average = os.getloadavg()[0]
    with sqlite3.connect(database) as connection:
        figures.rows = connection.execute("SELECT count(*) FROM evaluations").fetchone()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 where memory stayed within bounds and every record has its row."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="assay-many-") as name:
        root = Path(name)
        with console.status(f"writing {options.count} submissions"):
            target = generate(root, options.count, options.form, options.what)
        for run in ("first", "again") if options.again else ("first",):
            found.append(Figures(f"{options.form}, {options.what}, {run}", options.count))
            with console.status("judging") as status:
                measure(root, target, found[-1], options.seconds, lambda done: status.update(f"{done} results"))
            if found[-1].interrupted:
                break
    _show(found, Console(width=None if sys.stdout.isatty() else 160))
    if options.json:
        rows = [{**asdict(each), "parent_cpu_ms_each": each.parent_cpu_ms_each} for each in found]
        Path(options.json).write_text(json.dumps({"cores": os.cpu_count(), "runs": rows}, indent=1) + "\n")
    return 0 if all(_sound(each) for each in found) else 1


def _sound(figures: Figures) -> bool:
    return figures.parent_peak_bytes < MEMORY_TARGET_BYTES and figures.rows >= figures.results


def _show(found: Sequence[Figures], console: Console) -> None:
    table = Table(title=f"{found[0].submissions} submissions (targets: first under {FIRST_TARGET_S:g} s, memory under 1 GiB)")
    times = ("under way s", "first verdict s", "ran for s")
    for heading in ("run", *times, "results", "parent peak MiB", "parent CPU ms each", "load average"):
        table.add_column(heading, justify="left" if heading == "run" else "right")
    for each in found:
        first = [f"{seconds:.1f}" if seconds is not None else "–" for seconds in (each.under_way_s, each.first_result_s)]
        ended = f"{each.wall_s:.0f}{' (interrupted)' if each.interrupted else ''}"
        memory = f"{each.parent_peak_bytes / (1 << 20):.0f}"
        table.add_row(each.run, *first, ended, str(each.results), memory, f"{each.parent_cpu_ms_each:.2f}", f"{each.load_average:.1f}")
    console.print(table)
    for each in found:
        console.print(f"{each.run}: {', '.join(f'{count} {name}' for name, count in each.categories.items()) or 'nothing left to judge'}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, metavar="N", help="submissions (default %(default)s)")
    parser.add_argument("--form", choices=("folder", "bundle"), default="folder", help="a file each, or a line each (default folder)")
    parser.add_argument("--what", choices=("mixed", "rejected"), default="mixed", help="what they are (default mixed)")
    parser.add_argument("--seconds", type=float, metavar="S", help="interrupt the run after so long (default: let it end)")
    parser.add_argument("--again", action="store_true", help="run once more afterwards")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
