"""Figures as people read them."""


def light_text(share: float | None, baseline_share: float | None) -> str:
    """Shares of the speed of light, the baseline's in parentheses: `71.2 % (23.1 %)`; empty where they are not known."""
    return "" if share is None or baseline_share is None else f"{percent(share)} ({percent(baseline_share)})"


def percent(share: float) -> str:
    """Three digits: `71.2 %`, `0.0412 %`."""
    if share >= 10:
        return f"{100 * share:.0f} %"
    return f"{100 * share:#.3g} %".replace(". %", " %")


def rate_text(per_s: float, unit: str) -> str:
    """`4.28 TB/s`, `61.2 GFLOP/s`."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if per_s >= factor:
            return f"{per_s / factor:.3g} {prefix}{unit}/s"
    return f"{per_s:.3g} {unit}/s"
