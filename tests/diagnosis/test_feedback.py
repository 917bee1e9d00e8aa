"""Feedback for the author of a failed submission."""

import logging
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from evaluator.diagnosis.feedback import MAX_CHARS, Feedback, feedback
from evaluator.diagnosis.verdict import Verdict, advice_on
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.evidence import (
    BuildEvidence,
    ChangedInputsEvidence,
    Diagnostic,
    ErrorFigures,
    Evidence,
    ExceptionEvidence,
    ExitEvidence,
    KernelLimits,
    LaunchRecord,
    RoundEvidence,
    WrongElement,
)
from evaluator.results.result import Result
from tests.db.samples import full_evidence, result
from tests.diagnosis import evidence as shared
from tests.diagnosis.growth import GROWS_LIKE_ITSELF, growth
from tests.diagnosis.notes.test_static_notes import KERNEL, submission

CODE = submission()


def launch(
    kernel: str = "scale(float const*, float*, int)", threads: int = 256, blocks: int = 4, count: int = 7, **changes: Any
) -> LaunchRecord:
    return shared.launch((threads, 1, 1), kernel=kernel, grid=(blocks, 1, 1), count=count, **changes)


def failing(category: Category, message: str = "so", **evidence: object) -> Result:
    return result(category, message=message, hint=Verdict(category, message).hint, evidence=Evidence.model_validate(evidence))


def test_a_failed_build_shows_the_line_and_the_other_errors() -> None:
    diagnostics = [
        Diagnostic(
            file="cuda.cu",
            line=8,
            severity="error",
            message=f'identifier "x{number}" is undefined',
            source_line=7 + number,
            excerpt="if (i < n)\n   ^",
        )
        for number in range(8)
    ]
    build = BuildEvidence(name="x", key="k", ok=False, category=Category.UNDECLARED_IDENTIFIER, diagnostics=tuple(diagnostics))
    told = feedback(failing(Category.UNDECLARED_IDENTIFIER, 'line 7 (cuda.cu:8): identifier "x0" is undefined', builds=(build,)), CODE)
    assert told.line == 7
    assert told.text.startswith('verdict: build_failed/undeclared_identifier\ncause: line 7 (cuda.cu:8): identifier "x0" is undefined\n')
    assert "> 7 |     if (i < n) out[i] = 2.0f * in[i];" in told.text
    assert told.text.count("is undefined") == 6 and "further errors: 3" in told.text
    assert CATEGORIES[Category.UNDECLARED_IDENTIFIER].hint in told.text


def test_parameters_of_its_own_are_the_first_thing_to_repair() -> None:
    parameters = {"source": "copied", "unmatched": ("w (2,)",), "missing": ("fc.bias (2,)",)}
    for told, first in ((parameters, True), (None, False)):
        text = feedback(failing(Category.WRONG_VALUES, rounds=(shared.failed(Category.WRONG_VALUES),), parameters=told), CODE).text
        assert (re.search("what to do:\\s+First give your parameters the reference's values", text) is not None) == first
        assert CATEGORIES[Category.WRONG_VALUES].hint in text


def test_a_refused_launch_names_the_line_that_launches() -> None:
    told = feedback(
        failing(Category.OVERSIZED_BLOCK, launches=(launch(code=1, threads=4096), launch("other()", own=False)), exception=None), CODE
    )
    assert told.line == 11
    assert "`scale` × 7: grid 4×1×1, block 4096×1×1, refused with CUDA error 1" in told.text
    assert "7 launches of library kernels" in told.text


def test_a_launch_shows_what_the_kernel_uses() -> None:
    limits = KernelLimits(registers=168, static_shared_bytes=4096, local_bytes=64, max_threads=384, max_dynamic_shared_bytes=49152)
    told = feedback(failing(Category.WRONG_VALUES, launches=(launch(limits=limits),)), CODE)
    assert "; 168 registers, 4096 bytes of static shared memory, 64 bytes of local memory" in told.text


def test_a_device_fault_names_the_only_kernel() -> None:
    exception = ExceptionEvidence(stage="rounds", type="AcceleratorError", message="CUDA error", line=20, cuda_error=700)
    told = feedback(failing(Category.ILLEGAL_MEMORY_ACCESS, launches=(launch(),), exception=exception), CODE)
    assert told.line == 5
    two = submission(KERNEL + "__global__ void more(float* x) { if (x) x[0] = 1; }\n")
    told = feedback(failing(Category.ILLEGAL_MEMORY_ACCESS, launches=(launch(), launch("more(float*)")), exception=exception), two)
    assert told.line == 20


KILLED = {"exit": ExitEvidence(stage="rounds", signal="SIGKILL", memory_limit_bytes=1 << 30)}


def test_memory_that_a_process_was_killed_for_is_asked_for_where_only_one_line_does() -> None:
    hoards = submission(forward="return ops.run(x) + torch.zeros(1 << 40).sum()")
    line = next(number for number, text in enumerate(hoards.splitlines(), 1) if "torch.zeros" in text)
    killed = failing(Category.OUT_OF_MEMORY, "forward() exceeded the memory limit", **KILLED)
    assert feedback(killed, hoards).line == line
    assert feedback(killed, hoards, 101).line == line + 100
    assert feedback(killed, hoards + "y = torch.empty(3)\n").line is None
    raised = ExceptionEvidence(stage="rounds", type="MemoryError", message="", line=2)
    assert feedback(failing(Category.OUT_OF_MEMORY, exception=raised), hoards).line == 2


def test_an_exception_shows_its_own_frames_and_all_of_its_message() -> None:
    exception = ExceptionEvidence(
        stage="rounds",
        type="RuntimeError",
        message="shapes differ\nsizes 3 and 4\n" + "x" * 9000 + "\nthe end",
        traceback="line 20, in forward\n    return ops.run(x)\nline 4, in helper\n    run(y)\n",
        line=20,
    )
    told = feedback(failing(Category.PYTHON_EXCEPTION, "line 20: RuntimeError: shapes differ", exception=exception), CODE)
    assert told.line == 20
    assert "line 4, in helper" in told.text and "sizes 3 and 4" in told.text and "the end" in told.text


def figures(**changes: Any) -> ErrorFigures:
    fields: dict[str, Any] = {"output": "[1]", "elements": 200, "wrong": 50, "max_error": 0.5, "rms_error": 0.1, "tolerance": 4e-5}
    return ErrorFigures(**fields | {"reference_error": 1e-7} | changes)


def test_a_wrong_answer_shows_its_figures() -> None:
    wrong = figures(pattern="a tail of 50", likeness="all of them are 0", examples=(WrongElement(index=(3, 4), value=0.0, expected=2.5),))
    failed = RoundEvidence(index=1, seed=1, passed=False, category=Category.WRONG_VALUES, outputs=(wrong,))
    told = feedback(failing(Category.WRONG_VALUES, rounds=(failed,)), CODE)
    assert told.line is None
    for words in (
        "error of output[1]:",
        "50 of 200 elements wrong (25.00%), a tail of 50",
        "all of them are 0",
        "at [3, 4]: 0, expected 2.5",
    ):
        assert words in told.text


@pytest.mark.parametrize("message", ["line 12: invalid syntax", "line 12 (main.cpp:4): no"])
def test_a_rejection_takes_its_line_from_its_message(message: str) -> None:
    assert feedback(failing(Category.SYNTAX_ERROR, message), "x = (\n", first_line=12).line == 12


def test_nothing_of_the_machine_is_told_and_nothing_has_no_end() -> None:
    flood = "y" * 100_000 + " /home/judge/secret/place.py:3 " + "z" * 100_000
    exception = ExceptionEvidence(stage="rounds", type="E", message=flood, traceback=f"line 1, in f\n    {flood}\n" * 50, line=1)
    launches = tuple(launch(f"kernel{number}()") for number in range(100))
    code = "\n".join([CODE, *(f"# {flood}" for _ in range(3))])
    told = feedback(failing(Category.PYTHON_EXCEPTION, "at /home/judge/secret/place.py", exception=exception, launches=launches), code)
    assert len(told.text) <= MAX_CHARS
    assert "/home" not in told.text and "place.py" in told.text
    assert "and 92 other kernels" in told.markdown("x")


def test_markdown_of_hostile_text_stays_text() -> None:
    told = feedback(failing(Category.PYTHON_EXCEPTION, "![x](http://y) <script> | `a`"), "```\n" * 9)
    text = told.markdown("# a/b_c.py <b>")
    assert text.startswith("## \\# a/b\\_c.py \\<b\\>\n")
    assert "<script" not in text.replace("\\<script", "") and "![x]" not in text


def test_every_category_has_something_to_be_said() -> None:
    for category in Category:
        told = feedback(result(category) if category is Category.OK else failing(category), CODE)
        assert f"{category.status.value}/{category.value}" in told.text
        assert CATEGORIES[category].hint in told.text, category
        assert told.markdown("a").count("**") >= 4, category


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ('identifier "__half" is undefined', "Include <cuda_fp16.h>."),
        ('calling a __host__ function("f") from a __global__ function("g") is not allowed', "__device__"),
        ("undefined symbol: _Z1fv", "exactly the declared signature"),
        ("argument types are: (const float, double)", "0.0f"),
        ("line 3: TypeError: load_inline() missing 1 required positional argument: 'cpp_sources'", "torch::Tensor f(torch::Tensor x);"),
        ("line 3: TypeError: load_inline() got an unexpected keyword argument 'cuda_source'", "cuda_sources"),
    ],
)
def test_messages_that_come_up_again_and_again_get_advice(message: str, advice: str) -> None:
    assert advice in Verdict(Category.CUDA_COMPILE_ERROR, message).hint
    assert advice in feedback(failing(Category.CUDA_COMPILE_ERROR, message), CODE).text
    assert advice_on("nothing of the kind") == ""


HOSTILE = "a\n```\n~~~~~~\n~~~\n<script>alert(1)</script>\n\x1b[31mred\x1b]0;title\x07 \u202e\u2028\x85\n# Heading **correct/ok**\n````\n[x](http://y)"


def hostile() -> Feedback:
    wrong = figures(output=f"[{HOSTILE}]", pattern=HOSTILE, likeness=HOSTILE)
    evidence = {
        "exception": ExceptionEvidence(stage="load", type="E", message=HOSTILE, traceback=HOSTILE, line=3),
        "rounds": (RoundEvidence(index=1, seed=1, passed=False, category=Category.WRONG_VALUES, outputs=(wrong,)),),
        "launches": (launch(HOSTILE),),
    }
    code = submission().replace("\n\n", "\nx = '\x1b]0;owned\x07\x1b[2J \u202e' # ``` ~~~\n", 1)
    return feedback(failing(Category.PYTHON_EXCEPTION, HOSTILE, **evidence), code)


def test_what_was_compiled_only_has_its_notes() -> None:
    launched_by_2048 = submission(KERNEL.replace("255) / 256, 256", "2047) / 2048, 2048"))
    assert "launched with 2048 threads per block" in feedback(failing(Category.NO_DEVICE), launched_by_2048).text
    assert "launched with" not in feedback(failing(Category.INTERRUPTED), launched_by_2048).text


def test_nothing_that_a_terminal_obeys_is_said() -> None:
    told = hostile()
    assert len(told.sections) >= 7 and "owned" in told.text and "red" in told.text
    for text in (told.text, told.markdown(HOSTILE)):
        assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", text) == []
    assert [line for section in told.sections for line in (section.title, *section.lines) if "\n" in line] == []


def test_hostile_text_leaves_no_fence_and_adds_no_heading() -> None:
    told = hostile()
    tokens = MarkdownIt("commonmark").parse(told.markdown(HOSTILE))
    assert sum(token.type == "heading_open" for token in tokens) == 1
    assert not [token for token in tokens if token.type == "html_block"]
    inside = [token for token in tokens for token in token.children or () if token.type in ("html_inline", "link_open")]
    assert inside == []
    fences = [token.content.splitlines() for token in tokens if token.type == "fence"]
    assert fences == [list(section.lines) for section in told.sections if section.verbatim]


@pytest.mark.parametrize("error", [RecursionError("deep"), ValueError("odd"), MemoryError()], ids=repr)
def test_a_feedback_that_fails_is_empty_and_told_of(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("evaluator.diagnosis.feedback.notes", fail)
    with caplog.at_level(logging.ERROR):
        told = feedback(failing(Category.PYTHON_EXCEPTION), CODE)
    assert told == Feedback(None, ()) and (told.text, told.markdown("a")) == ("", "## a\n")
    assert caplog.records[0].exc_info is not None


def test_code_that_is_too_long_is_not_read_for_the_line_of_a_launch() -> None:
    refused = failing(Category.OVERSIZED_BLOCK, launches=(launch(code=1, threads=4096),), exception=None)
    assert feedback(refused, CODE).line == 11
    assert feedback(refused, CODE + "#" * (256 << 10)).line is None


def test_a_feedback_takes_time_that_grows_with_the_code_alone() -> None:
    refused = failing(Category.OVERSIZED_BLOCK, launches=(launch(code=1, threads=4096),), exception=None)
    assert growth(lambda code: feedback(refused, code), lambda size: submission(KERNEL + "__global__ void k() {" + "if(" * size), 1500) < (
        GROWS_LIKE_ITSELF
    )


def test_a_right_answer_is_told_which_other_inputs_break_it() -> None:
    found = (
        ChangedInputsEvidence(distribution="wide", right=True),
        ChangedInputsEvidence(distribution="shifted", right=False, category=Category.WRONG_VALUES, message="off", max_error=0.03125),
        ChangedInputsEvidence(distribution="ties", right=False, category=Category.TIMEOUT, message="it took too long"),
        ChangedInputsEvidence(distribution="special", right=None),
    )
    told = feedback(failing(Category.OK, "", changed_inputs=found), CODE).text
    assert "on other inputs, which decide no verdict:\n  inputs `shifted`: wrong_values, largest relative error 0.0312\n" in told
    assert "inputs `ties`: timeout, it took too long" in told
    assert "`wide`" not in told and "`special`" not in told
    assert "on other inputs" not in feedback(failing(Category.OK, "", changed_inputs=found[:1]), CODE).text
    assert "on other inputs" not in feedback(failing(Category.WRONG_VALUES, changed_inputs=found), CODE).text


def test_a_profile_has_a_section_with_advice() -> None:
    text = feedback(failing(Category.OK, "", profile=full_evidence().profile), CODE).text
    assert "\nprofile by Nsight Compute, on the case small:\n  not the evaluation's case: another case\n" in text
    assert "reads each input 4 times: keep it in registers or shared memory, or fuse kernels" in text
    assert "profile by" not in feedback(failing(Category.OK, ""), CODE).text
