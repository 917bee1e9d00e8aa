"""Definitions of the words on the pages and in their tables, for the glossary page, all tooltips and docs/glossary.md.

python -m web.glossary > docs/glossary.md
"""

import re
import sys

from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.category import CATEGORIES, Status
from evaluator.results.protocol_names import DESCRIPTIONS

GROUPS: dict[str, dict[str, str]] = {
    "What is judged": {
        "problem": "A PyTorch reference to match in output and to beat in time.",
        "reference": "The problem's class Model, which defines right outputs and is the baseline.",
        "submission": "One file, or one code block of a model's response, with a class ModelNew.",
        "bundle": "A .jsonl file with one response or code text in each line.",
        "author": "The model, person or team that submitted it.",
        "block": "The number of the code block, if a response has several.",
        "sample": "The response's number among the author's responses to one problem.",
        "case": "One set of shapes: full is the default on GPUs, small on CPUs.",
        "workload": "One of several timed cases; the score is the geometric mean of their speedups.",
        "precision": "The type of inputs and parameters; own is the type of the problem's inputs.",
        "device": "The model of the GPU or CPU that ran it.",
        "level": "The KernelBench level of a problem: 1 one operator, 2 a few, 3 part of a network.",
        "version": "One text of a problem; the last one evaluated counts in rankings.",
        "source": "The submitted text.",
        "description": "The first sentence of the problem's text.",
        "evaluation": "One judging of one submission, with a number that never changes.",
        "run": "One command that stored evaluations.",
        "expected": "The number of submissions in a run, as far as known.",
        "already judged": "Submissions that a run skipped, because they have a verdict.",
        "judge": "The trusted process that compares, measures and decides.",
        "worker": "The sandboxed process that runs a submission or a reference.",
        "builder": "The part of the judge that compiles a submission's sources, in a sandbox.",
        "stock build": "A build by PyTorch's own commands, which takes longer than the builder's fast way.",
        "DSL": "A kernel language, such as Triton or CuPy's; a plug-in can add one.",
        "own kernel": "A launched kernel that the submission's source names, or that its shared object launches.",
        "evaluator": "The version of Assay that gave the verdict.",
        "environment": "The machine and its software: device, driver, CUDA, PyTorch, settings.",
        "foreign verdict": "Another harness's verdict, which is shown and never ranked.",
    },
    "Verdicts": {
        "verdict": "Status and category of an evaluation, as in incorrect/wrong_values.",
        "status": "How an evaluation ended.",
        "category": "Why it ended so; each category belongs to one status.",
        "cause": "The observation behind the verdict, in one line.",
        "hint": "A change to make in the submission.",
        "feedback": "Verdict, cause and source lines, for the author.",
        "evidence": "All stored observations, from which rules derive the verdict.",
        "correct": "Right on the inputs that the problem generates.",
        "incorrect": "It ran, and the output is wrong.",
        "build_failed": "It did not compile or link.",
        "run_failed": "It raised, crashed or hung.",
        "rejected": "The file has no usable submission.",
        "disqualified": "It cheated: in time, output or access.",
        "not_evaluated": "The judge or machine could not judge it; the next run tries again.",
        "solved": "Right, by its own kernels: category ok.",
        "share": "The part of all current evaluations with this verdict.",
    },
    "Correctness": {
        "round": "One comparison with the reference, on new random inputs.",
        "seed": "The number that determines a round's random inputs.",
        "inputs": "The origin of a round's inputs: the problem's own, or changed.",
        "distribution": "A way to change inputs: other signs, other magnitudes, few values.",
        "oracle": "The reference's output in float64, against which errors are measured.",
        "tolerance": "The largest allowed error, from the type and the reference's own error.",
        "max error": "An element's largest error, divided by its size plus the output's root mean square.",
        "RMS error": "The root mean square of all errors, divided by that of the output.",
        "gross error": "The largest error divided by the spread of the right output; it decides on changed inputs.",
        "reference error": "The largest error of the reference itself, in the submission's type; empty if outputs were compared with it.",
        "wrong": "Elements of an output whose error exceeds the tolerance.",
        "trivial answer": "An output that takes no work, such as zeros or a copied input.",
        "error map": "A picture of an output that shows its wrong elements.",
        "generalises": "Whether it is right in other shapes too.",
        "robust": "Whether it is right on inputs of other distributions too.",
        "without its own kernels": "A check that skips its kernels: if the output is still right, PyTorch did the work.",
        "reduced precision": "Right by narrower arithmetic, such as TF32; ranked only on request.",
        "launches": "Kernels that the submission launched.",
        "launch recorder": "The part of the worker that notes each kernel launch.",
        "sandbox": "The sandbox's level: namespaces, bubblewrap, landlock or none.",
        "stage": "A step of an evaluation, such as load, build or time.",
        "compute-sanitizer": "NVIDIA's tool that finds races and wrong memory accesses.",
        "profile": "NVIDIA Nsight Compute's measurements of the kernels of one call.",
    },
    "Times": {
        "speedup": "The baseline's time divided by the submission's; above 1, the submission is faster.",
        "interval": "The speedup's 95 % confidence interval, within and between evaluations.",
        "runtime": "The time of one call: the median of all samples (on one core their lower quartile), plus what the judge adds.",
        "baseline": "The reference's time, measured in alternation with the submission's.",
        "best baseline": "The fastest of several baselines.",
        "protocol": "The way of timing; times by different protocols are never mixed.",
        **{name: f"A protocol: {text}." for name, text in DESCRIPTIONS.items()},
        "timing block": "Up to 16 calls of one side in a row.",
        "flush": "A write over the whole L2 cache before a timed call.",
        "claim": "A time reported by the worker, which the judge's clock checks.",
        "gate": "A wait on the GPU that holds kernels until the judge's stream has copied the inputs.",
        "burst": "Several calls back to back behind the gate, by the judge's clock.",
        "launch lead": "Work that keeps the GPU busy until the host has launched the timed call.",
        "timing sample": "One timed call, or a call's share of a timing block.",
        "far off": "Samples far beyond the quartiles, which still count.",
        "doubt": "A mark on times disturbed by other processes or throttling.",
        "speed of light": "The least time for the problem's bytes and operations at measured rates.",
        "roofline": "The limit that bandwidth and arithmetic rate put on a kernel.",
        "floor": "The shortest possible time; a time below it is implausible_speed.",
        "calibration": "A device's measured rates: bandwidth, and operations in each type.",
        "ratio": "The speedup on the right side divided by that on the left.",
    },
    "Rankings": {
        "board": "The leaderboard of one problem version, case, device, precision and protocol.",
        "rank": "The place on a board, shared by results up to the first whose interval lies below that of the rank's best.",
        "1=": "A shared rank.",
        "task": "A problem's newest version in one precision, with at least one result.",
        "fast_p": "The share of all tasks whose best speedup exceeds p.",
        "mean speedup": f"The geometric mean of the best speedups over all tasks; an unsolved task counts {FAILURE_SPEEDUP:g}.",
        "pass@k": "The chance that at least one of k samples is right, averaged over the tasks tried.",
        "medals": "Gold, silver, bronze: the boards on which the author's best has rank 1, 2 or 3, shared or not.",
        "tried": "Tasks with at least one sample of the author.",
        "samples": "An author's current evaluations, without those not evaluated.",
        "submissions": "A problem's current evaluations, without those not evaluated.",
        "authors": "The number of authors who have solved a problem.",
        "current": "A submission's latest evaluation; older ones are history.",
        "ranked": "Current and ok; identical sources count once.",
        "best so far": "The highest speedup up to a moment, history included.",
    },
    "Comparing two runs": {
        "outcome": "The right run's result compared with the left one's.",
        "broke": "Solved in the left run, and failed in the right one.",
        "slower": "Solved in both, and slower beyond both intervals.",
        "changed": "Solved in neither, with another verdict, or not evaluated in one.",
        "gone": "Only in the left run: no longer submitted.",
        "fixed": "Failed in the left run, and solved in the right one.",
        "faster": "Solved in both, and faster beyond both intervals.",
        "new": "Only in the right run.",
        "unchanged": "The same verdict, and times that can't be told apart.",
    },
}
"""The page's sections: each term with one plain sentence."""
ALIASES = {
    "95 % interval": "interval",
    "devices": "device",
    "evaluations": "evaluation",
    "runtime ms": "runtime",
    "baseline ms": "baseline",
    "best baseline ms": "best baseline",
    "of light": "speed of light",
    "of light (baseline)": "speed of light",
    "mean": "mean speedup",
    "best": "best so far",
    "best speedup": "best so far",
    "without own kernels": "without its own kernels",
    "ablation": "without its own kernels",
    "control": "without its own kernels",
    "stock way": "stock build",
    "own kernels": "own kernel",
    "sandbox level": "sandbox",
    "source SHA-256": "source",
    "not evaluated": "not_evaluated",
    "robustness": "robust",
    "generality": "generalises",
    "tie": "1=",
    "compare": "ratio",
    "by": "author",
    "problem version": "version",
    "message": "cause",
    "other harnesses": "foreign verdict",
    **{f"fast_{p:g}": "fast_p" for p in FAST_P},
    **{f"pass@{k}": "pass@k" for k in PASS_AT},
}
"""Other words for a term, such as the headings of columns."""
_OWN = {name: text for group in GROUPS.values() for name, text in group.items()}
TERMS: dict[str, str] = (
    {category.value: info.meaning for category, info in CATEGORIES.items()} | _OWN | {name: _OWN[term] for name, term in ALIASES.items()}
)
"""The meaning of each word: terms, categories and other words for terms."""
_UNFIT = re.compile(r"[^a-z0-9_]+")
PREFACE = """\
# Glossary

<!-- python -m web.glossary > docs/glossary.md -->

Words of the documents. The pages show more, as tooltips and at `/glossary`.
[verdicts.md](verdicts.md) has statuses and categories, [database.md](database.md#what-the-figures-mean) the words of rankings.
"""
"""The beginning of docs/glossary.md."""
_PAGES_ONLY = {
    *("source", "description", "expected", "already judged", "evaluator", "environment", "foreign verdict"),
    *("verdict", "status", "category", "cause", "hint", "solved", "share"),
    *("seed", "inputs", "RMS error", "reference error", "wrong", "error map", "reduced precision", "launches", "profile"),
    *("best baseline", *DESCRIPTIONS, "timing sample", "far off", "roofline", "calibration", "ratio"),
    *("author", "run", "block", "sample", "device", "feedback", "sandbox", "compute-sanitizer", "interval"),
    *(GROUPS["Rankings"].keys() - {"board"}),
    *GROUPS["Comparing two runs"],
}
"""Words that docs/glossary.md leaves out: no other document uses them, or it defines them where it does."""


def anchor(word: str) -> str:
    """The id of a word's entry on the glossary page. Raises KeyError for a word that is not a term."""
    term = ALIASES.get(word, word)
    if term not in TERMS:
        raise KeyError(f"{word!r} is not in the glossary")
    return "term-" + {"1=": "tie"}.get(term, _UNFIT.sub("-", term.lower()).strip("-"))


def document() -> str:
    """Return the text of docs/glossary.md: a table for each group of words, without those of the pages alone."""
    rows = {title: _rows(group) for title, group in GROUPS.items()}
    return PREFACE + "".join(f"\n## {title}\n\n| word | meaning |\n| --- | --- |\n{text}" for title, text in rows.items() if text)


def _rows(group: dict[str, str]) -> str:
    return "".join(f"| {word} | {text} |\n" for word, text in group.items() if word not in {*Status, *_PAGES_ONLY})


if __name__ == "__main__":
    sys.stdout.write(document())
