"""What the words of the pages and their tables mean: the source of the glossary page, of all tooltips and of docs/glossary.md.

python -m web.glossary > docs/glossary.md
"""

import re
import sys

from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.category import CATEGORIES, Status
from evaluator.results.protocol_names import DESCRIPTIONS

GROUPS: dict[str, dict[str, str]] = {
    "What is judged": {
        "problem": "A task with a reference in PyTorch, to be answered alike and faster.",
        "reference": "The class Model of the problem's file: what is right, and the baseline.",
        "submission": "One file, or one code block of a model's response, with a class ModelNew.",
        "author": "Who handed it in: a model, a person or a team.",
        "block": "The number of the code block, where a response has several.",
        "sample": "Its number among the author's answers to one problem.",
        "case": "One set of shapes: full is ranked on GPUs, small is for CPUs.",
        "precision": "The type of inputs and parameters; own is what the problem draws.",
        "device": "The model of the GPU or CPU that ran it.",
        "level": "How much a problem asks for: 1 one operator, 2 a few, 3 a block of a network.",
        "version": "One text of a problem. The last one evaluated counts in rankings.",
        "source": "The text that was handed in.",
        "description": "The first sentence of the problem's text.",
        "evaluation": "One submission, judged once. Its number never changes.",
        "run": "One command that stored evaluations.",
        "expected": "How many submissions a run has, as far as it knows.",
        "already judged": "Submissions that a run skipped, since they have a verdict.",
        "judge": "The trusted process that compares, measures and decides.",
        "worker": "The confined process that runs a submission or a reference.",
        "evaluator": "The version of Assay that gave the verdict.",
        "environment": "The machine and its software: device, driver, CUDA, PyTorch, settings.",
        "foreign verdict": "What another harness said. It is shown and never ranked.",
    },
    "Verdicts": {
        "verdict": "Status and category of an evaluation, as in incorrect/wrong_values.",
        "status": "How an evaluation ended.",
        "category": "Why it ended so. Each category belongs to one status.",
        "cause": "What was observed, in one line.",
        "hint": "What to change in the submission.",
        "feedback": "Verdict, cause and lines of the source, for the author.",
        "evidence": "All that was observed and stored. The verdict follows from it.",
        "correct": "Right on the problem's own inputs.",
        "incorrect": "It ran, and the answer is wrong.",
        "build_failed": "The compiler or the linker refused it.",
        "run_failed": "An exception, a crash or a timeout.",
        "rejected": "It was not judged, because of what was handed in.",
        "disqualified": "A cached answer, forged times, work put off or hidden.",
        "not_evaluated": "The machine failed, not the submission. It is judged again.",
        "solved": "Right, by kernels of its own: category ok.",
        "share": "The part of all current evaluations that ended so.",
    },
    "Correctness": {
        "round": "One comparison with the reference, on inputs drawn for it.",
        "seed": "The number that the inputs of a round were drawn from.",
        "inputs": "How a round's inputs were drawn: by the problem, or changed.",
        "distribution": "A way to change inputs: other signs, other magnitudes, few values.",
        "oracle": "The reference's answer in float64. Errors are measured against it.",
        "tolerance": "The largest allowed error. It depends on the type and the reference's own error.",
        "max error": "An element's largest error, over its size plus the output's root mean square.",
        "RMS error": "The root mean square of all errors, over that of the output.",
        "gross error": "The largest error over the spread of the right answer. It decides on changed inputs.",
        "reference error": "The largest error of the reference itself, in the submission's type.",
        "wrong": "Elements of an output whose error is above the tolerance.",
        "error map": "A picture of an output that shows where it is wrong.",
        "generalises": "Whether it is right in other shapes too.",
        "robust": "Whether it is right on inputs of other distributions too.",
        "without its own kernels": "A check: it answers again without them. A right answer is then not its work.",
        "reduced precision": "Right by narrower arithmetic, such as TF32; ranked only on request.",
        "launches": "Kernels that the submission launched.",
        "sandbox": "The level of confinement: namespaces, bubblewrap, landlock or none.",
        "stage": "A step of an evaluation: load, build, rounds, time, and so on.",
        "compute-sanitizer": "NVIDIA's tool that finds races and wrong memory accesses.",
        "profile": "What NVIDIA's Nsight Compute measured of the kernels of one call.",
    },
    "Times": {
        "speedup": "The baseline's time over the submission's time. Above 1, the submission is faster.",
        "interval": "The speedup's 95 % confidence interval, within this timing.",
        "runtime": "The time of one call: the median of all samples, and what the judge adds.",
        "baseline": "The reference's time, taken in turns with the submission's.",
        "best baseline": "The fastest of several baselines.",
        "protocol": "The way of timing. Times by different protocols are never mixed.",
        **{name: f"A protocol: {text}." for name, text in DESCRIPTIONS.items()},
        "flush": "A write over the whole L2 cache before a timed call.",
        "gate": "A wait on the GPU that holds kernels until the judge has started its clock.",
        "launch lead": "Work that keeps the GPU busy until the host has launched the timed call.",
        "timing sample": "One timed call, or one call's share of a timed block.",
        "far off": "Samples far beyond the quartiles. They still count.",
        "doubt": "Times that other processes or a lowered clock may have changed.",
        "speed of light": "The least time for the problem's bytes and operations at measured rates.",
        "roofline": "The limit that bandwidth and arithmetic rate put on a kernel.",
        "floor": "A shorter time than this is implausible_speed.",
        "calibration": "A device's measured rates: bandwidth, and operations in each type.",
        "ratio": "The right one's speedup over the left one's. Above 1, the right one is faster.",
    },
    "Rankings": {
        "board": "The leaderboard of one problem, case, device, precision and protocol.",
        "rank": "The place on a board. Results whose intervals overlap share it.",
        "1=": "A shared rank.",
        "task": "A board with at least one result.",
        "fast_p": "The share of all tasks that are solved and faster than p times the baseline.",
        "mean speedup": f"The geometric mean of the best speedups over all tasks. An unsolved task counts {FAILURE_SPEEDUP:g}.",
        "pass@k": "The chance that at least one of k samples is right, as a mean over the tasks tried.",
        "medals": "First, second and third places on boards.",
        "tried": "Tasks with at least one sample of the author.",
        "samples": "An author's current evaluations, without those not evaluated.",
        "submissions": "A problem's current evaluations, without those not evaluated.",
        "authors": "How many authors have solved a problem.",
        "current": "A submission's latest evaluation. Older ones are history.",
        "ranked": "Current and ok; copies of one source count once.",
        "best so far": "The highest speedup up to a moment, history included.",
    },
    "Comparing two runs": {
        "outcome": "How the right run compares with the left one.",
        "broke": "Solved in the left run, and failed in the right one.",
        "slower": "Solved in both, and slower beyond both intervals.",
        "changed": "Solved in neither, with another verdict, or not evaluated in one.",
        "gone": "Only in the left run: no longer handed in.",
        "fixed": "Failed in the left run, and solved in the right one.",
        "faster": "Solved in both, and faster beyond both intervals.",
        "new": "Only in the right run.",
        "unchanged": "The same verdict, and times that can't be told apart.",
    },
}
"""The page's sections: each term with one or two plain sentences."""
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
    "own kernels": "without its own kernels",
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
"""What each word means: terms, categories and other words for terms."""
_UNFIT = re.compile(r"[^a-z0-9_]+")
PREFACE = """\
# Glossary

<!-- python -m web.glossary > docs/glossary.md -->

Words of the documents and the command line. The pages show these and their own as tooltips and at `/glossary`.
[verdicts.md](verdicts.md) has statuses and categories, [database.md](database.md#what-the-figures-mean) the words of rankings.
"""
"""The beginning of docs/glossary.md."""
_ELSEWHERE = {"Rankings", "Comparing two runs"}
"""Groups that docs/glossary.md leaves out: docs/database.md defines the words of rankings, and only the pages compare runs."""


def anchor(word: str) -> str:
    """The id of a word's entry on the glossary page. Raises KeyError for a word that is no term."""
    term = ALIASES.get(word, word)
    if term not in TERMS:
        raise KeyError(f"{word!r} is not in the glossary")
    return "term-" + {"1=": "tie"}.get(term, _UNFIT.sub("-", term.lower()).strip("-"))


def document() -> str:
    """The text of docs/glossary.md: a table for each group of words, without those that other documents define."""
    return PREFACE + "".join(
        f"\n## {title}\n\n| word | meaning |\n| --- | --- |\n{_rows(group)}" for title, group in GROUPS.items() if title not in _ELSEWHERE
    )


def _rows(group: dict[str, str]) -> str:
    return "".join(f"| {word} | {text} |\n" for word, text in group.items() if word not in set(Status))


if __name__ == "__main__":
    sys.stdout.write(document())
