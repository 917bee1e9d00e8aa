"""What the words of the pages and their tables mean: the source of the glossary page, of all tooltips and of docs/glossary.md.

python -m web.glossary > docs/glossary.md
"""

import re
import sys

from db.queries.statistics import FAILURE_SPEEDUP, FAST_P, PASS_AT
from evaluator.results.category import CATEGORIES
from evaluator.results.protocol_names import DESCRIPTIONS

GROUPS: dict[str, dict[str, str]] = {
    "What is judged": {
        "problem": "A task with a reference in PyTorch. A submission has to give the same answers, faster.",
        "reference": "The class Model of the problem's file. It says what is right, and it is the baseline of the times.",
        "submission": "One file, or one code block of a model's response, with a class ModelNew.",
        "author": "Who handed the submission in: a model, a person or a team.",
        "block": "The number of the code block, where a response has several.",
        "sample": "The number of the submission among its author's answers to one problem.",
        "case": "One set of shapes of a problem. The case full is ranked on GPUs, small is for CPUs.",
        "precision": "The type of the inputs and parameters. The precision own is the type that the problem itself draws.",
        "device": "The model of the GPU or CPU that ran it.",
        "level": "How much a problem asks for: 1 one operator, 2 a few in a row, 3 a block of a network, 4 and above more.",
        "version": "One text of a problem. Only the version that was evaluated last counts in rankings.",
        "source": "The text that was handed in. Its SHA-256 tells whether two texts are the same.",
        "description": "The first sentence of the problem's text.",
        "evaluation": "One submission, judged once. Its number never changes.",
        "run": "One command that stored evaluations.",
        "expected": "How many submissions a run comes to, as far as it knows.",
        "already judged": "Submissions that a run skipped, because the same text had a verdict already.",
        "judge": "The trusted process: it draws inputs, compares answers, measures times and decides.",
        "worker": "The confined process that runs a submission or a reference. The judge never believes what it says.",
        "evaluator": "The version of Assay that gave the verdict.",
        "environment": "The machine and its software: device, driver, CUDA, PyTorch, settings.",
        "foreign verdict": "What another harness said of a submission. It is shown, never checked and never ranked.",
    },
    "Verdicts": {
        "verdict": "Status and category of an evaluation, as in incorrect/wrong_values.",
        "status": "How an evaluation ended. There are seven.",
        "category": "Why it ended so. Each category belongs to one status.",
        "cause": "What was observed, in one line.",
        "hint": "What to change in the submission.",
        "feedback": "The verdict, its cause and the lines of the source that it is about, for whoever repairs the submission.",
        "evidence": "All that was observed. A verdict follows from it, and it is stored with the evaluation.",
        "correct": "Right on the problem's own inputs. Only the category ok is ranked.",
        "incorrect": "It ran, and the answer is wrong.",
        "build_failed": "It did not become an extension: the compiler or the linker refused it.",
        "run_failed": "It did not come to an answer: an exception, a crash or a timeout.",
        "rejected": "It was not judged, because of what was handed in.",
        "disqualified": "It got round the task: a cached answer, forged times, work put off or hidden.",
        "not_evaluated": "The machine failed, not the submission. It is judged again, and never counts against the submission.",
        "solved": "Right, by kernels of its own: category ok.",
        "share": "The part of all current evaluations that ended so.",
    },
    "Correctness": {
        "round": "One comparison of the submission's answer with the reference's, on inputs drawn for it.",
        "seed": "The number that the inputs of a round were drawn from.",
        "inputs": "How the inputs of a round were drawn: by the problem itself, or from a changed distribution.",
        "distribution": "A way to draw or change inputs: other signs, other magnitudes, few values, and so on.",
        "oracle": "The reference's answer in float64. Errors are measured against it.",
        "tolerance": "The largest error that is allowed. It depends on the output's type, and on the error of the reference itself.",
        "max error": "The largest error of an element, over the element's size plus the output's root mean square.",
        "RMS error": "The root mean square of all errors, over that of the output.",
        "gross error": "The largest error over how far the right answer's elements are from each other. It decides on changed inputs.",
        "reference error": "The largest error of the reference itself, in the submission's type.",
        "wrong": "Elements of an output whose error is above the tolerance.",
        "error map": "A picture of an output that shows where it is wrong.",
        "generalises": "Whether a submission that is right is right in other shapes too.",
        "robust": "Whether a submission that is right is right on inputs of other distributions too.",
        "without its own kernels": "A control: it answers again, its own kernels left out. A right answer is then not its work.",
        "reduced precision": "Right, by narrower arithmetic than the reference's, such as TF32. It is ranked only on request.",
        "launches": "Kernels that the submission started, as the judge recorded them.",
        "sandbox": "How strictly the submission was confined: by namespaces, bubblewrap, or a system call filter alone.",
        "stage": "A step of an evaluation: load, build, rounds, time, and so on.",
        "compute-sanitizer": "NVIDIA's tool that finds races and wrong memory accesses. No verdict rests on it.",
        "profile": "What NVIDIA's Nsight Compute measured of the kernels of one call. No verdict rests on it.",
    },
    "Times": {
        "speedup": "The baseline's time over the submission's time. Above 1, the submission is faster.",
        "interval": "The true speedup is in it with 95 % confidence, as far as the samples of this timing can tell.",
        "runtime": "The time of one call: the median of all samples (on one CPU core the lower quartile), and what the judge adds.",
        "baseline": "The reference's time in the same timing, taken in turns with the submission's.",
        "best baseline": "The fastest of several baselines, such as the reference by torch.compile.",
        "protocol": "The way of timing. Times by different protocols are never mixed.",
        **{name: f"A protocol: {text}." for name, text in DESCRIPTIONS.items()},
        "flush": "A write over the whole L2 cache before a timed call, so that no input is left there.",
        "gate": "A wait on the GPU that holds a submission's kernels until the judge has started its own clock and opens it.",
        "launch lead": "Work that keeps the GPU busy until the host has launched the timed call, so that launching is not in the time.",
        "timing sample": "One timed call, or one call's share of a timed block.",
        "far off": "Samples far beyond the quartiles. They count as all others do.",
        "doubt": "Times that others on the device, or a lowered clock, may have changed.",
        "speed of light": "The least time that the device needs for the problem's bytes and operations. Times are told as a share of it.",
        "roofline": "The limit that memory bandwidth and arithmetic rate put on a kernel. The speed of light follows from it.",
        "floor": "The time below which no call can be. A shorter time is implausible_speed.",
        "calibration": "What a device was measured to reach: bandwidth, and operations in each type.",
        "ratio": "The right one's speedup over the left one's. Above 1, the right one is faster.",
    },
    "Rankings": {
        "board": "One problem, case, device, precision and protocol. Only what is on one board is comparable.",
        "rank": "The place on a board, from 1. Results whose intervals overlap share it.",
        "1=": "A shared rank: another result can't be told apart from this one.",
        "task": "A board on which somebody was judged.",
        "fast_p": "The share of all tasks that are solved and faster than p times the baseline. fast_0 is the share that is solved.",
        "mean speedup": f"The geometric mean of the best speedups over all tasks. An unsolved task counts {FAILURE_SPEEDUP:g}.",
        "pass@k": "The chance that at least one of k samples is right, as a mean over the tasks tried.",
        "medals": "First, second and third places on boards.",
        "tried": "Tasks with at least one sample of the author.",
        "samples": "Current evaluations of an author, without those that were not evaluated.",
        "submissions": "Current evaluations of a problem: one for each submission, case and device. What was not evaluated is left out.",
        "authors": "How many authors have solved a problem.",
        "current": "The latest word on a submission. Older evaluations are history: shown, and never ranked.",
        "ranked": "Current and ok, and the latest of its author's copies of one source.",
        "best so far": "The highest speedup up to a moment, history included.",
    },
    "Comparing two runs": {
        "outcome": "How a submission did in the right run, against the left one.",
        "broke": "Solved in the left run, and failed in the right one.",
        "slower": "Solved in both, and slower beyond both intervals.",
        "changed": "Solved in neither, and the verdict is another; or one run could not evaluate it.",
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

These are the words of the documents, the command line and the pages. The pages show the same texts as tooltips and at `/glossary`.
The categories of verdicts are in [verdicts.md](verdicts.md).
"""
"""The beginning of docs/glossary.md."""


def anchor(word: str) -> str:
    """The id of a word's entry on the glossary page. Raises KeyError for a word that is no term."""
    term = ALIASES.get(word, word)
    if term not in TERMS:
        raise KeyError(f"{word!r} is not in the glossary")
    return "term-" + {"1=": "tie"}.get(term, _UNFIT.sub("-", term.lower()).strip("-"))


def document() -> str:
    """The text of docs/glossary.md: a table for each group."""
    return PREFACE + "".join(f"\n## {title}\n\n| word | meaning |\n| --- | --- |\n{_rows(group)}" for title, group in GROUPS.items())


def _rows(group: dict[str, str]) -> str:
    return "".join(
        f"| {', '.join((word, *(name for name, term in ALIASES.items() if term == word)))} | {text} |\n" for word, text in group.items()
    )


if __name__ == "__main__":
    sys.stdout.write(document())
