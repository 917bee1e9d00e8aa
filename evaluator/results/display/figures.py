"""Formats figures for tables, pages and messages: shares, rates, core numbers."""

from collections.abc import Collection

MARK = "*"
"""Follows a speedup whose times were disturbed."""
MARK_TEXT = f"{MARK} doubtful: something disturbed the times"
"""What the mark means, for the line below a table."""


def light_text(share: float | None, baseline_share: float | None) -> str:
    """Shares of the speed of light, the baseline's in parentheses: `71.2 % (23.1 %)`; empty if unknown."""
    return "" if share is None or baseline_share is None else f"{percent(share)} ({percent(baseline_share)})"


def best_text(kind: str | None, time_ms: float | None) -> str:
    """The time in ms and the kind of the fastest baseline: `0.512 (compile)`; empty if either is None."""
    return "" if kind is None or time_ms is None else f"{time_ms:.4g} ({kind})"


def solved_text(solved: int, reduced: int) -> str:
    """Number of solved tasks, and of those solved in reduced precision, if any: `12 (3 reduced)`."""
    return f"{solved} ({reduced} reduced)" if reduced else str(solved)


def count_text(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 problem`, `2 problems`. plural: for other nouns than those that get an s."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def all_right_text(evaluations: int) -> str:
    """What is said of evaluations without a failure."""
    return "The only evaluation is correct/ok." if evaluations == 1 else f"All {evaluations} evaluations are correct/ok."


def rank_text(rank: int, shared: bool) -> str:
    """A rank, marked if it is shared: `1=`."""
    return f"{rank}=" if shared else str(rank)


def percent(share: float) -> str:
    """A share to three digits: `71.2 %`, `0.0412 %`."""
    if share >= 10:
        return f"{100 * share:.0f} %"
    return f"{100 * share:#.3g} %".replace(". %", " %")


def rate_text(per_s: float, unit: str) -> str:
    """A rate to three digits: `4.28 TB/s`, `61.2 GFLOP/s`."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if per_s >= factor:
            return f"{per_s / factor:.3g} {prefix}{unit}/s"
    return f"{per_s:.3g} {unit}/s"


def cores_text(cores: Collection[int]) -> str:
    """Core numbers as ranges: `0-3,8`."""
    parts: list[list[int]] = []
    for number in sorted(cores):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def about_text(duration_s: float) -> str:
    """An estimated duration, in at most two units: `40 s`, `12 min`, `3 h 20 min`, `2 d 5 h`."""
    if duration_s < 60:
        return f"{duration_s:.0f} s"
    minutes = round(duration_s / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def clock_text(duration_s: float) -> str:
    """A duration in clock format: `3:07`, `1:02:09`."""
    minutes, seconds = divmod(int(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
