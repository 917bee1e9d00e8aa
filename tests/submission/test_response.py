"""Model responses in all the shapes that models give them."""

import textwrap

import pytest

from evaluator.results.category import Category
from evaluator.submission.response import Candidate, Response, read_response

CODE = "import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
OTHER = "class ModelNew:\n    other = True\n"


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


def codes(response: Response) -> list[str]:
    return [candidate.block.code for candidate in response.candidates]


def final(response: Response) -> Candidate:
    assert response.final is not None, response.rejection
    return response.final


def final_code(text: str) -> str:
    found = final(read_response(text))
    assert found.rejection is None, found.rejection
    return found.block.code


@pytest.mark.parametrize("tag", ["python", "py", "Python", "", "cuda", "python title=x", "{.python}"])
def test_a_fence_under_any_tag_that_holds_the_class_is_the_answer(tag: str) -> None:
    for fence in ("```", "~~~", "`````"):
        assert final_code("Here it is:\n\n" + fenced(CODE, tag, fence) + "\nEnjoy.\n") == CODE


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n\nb\n" + fenced(CODE), 5), ("````markdown\nText\n" + fenced(CODE) + "````\n", 4), ("thoughts\n</think>\n" + CODE, 2)],
)
def test_lines_of_the_file_are_counted(text: str, line: int) -> None:
    block = final(read_response(text)).block
    assert (block.code.strip(), block.first_line) == (CODE.strip(), line)


IN_LIST = "1. The code:\n\n" + "".join(f"   {line}\n" for line in fenced(CODE).splitlines())
IN_QUOTE = "".join(f"> {line}\n" for line in fenced(CODE).splitlines())
HTML = "<answer>\n" + fenced(CODE) + "</answer>\n"
OPEN_IN_REASONING = "```python\nimport tor\n</think>\n" + fenced(CODE)


@pytest.mark.parametrize(
    "text",
    [IN_LIST, IN_QUOTE, HTML, OPEN_IN_REASONING, "so:</think>" + fenced(CODE), "```python\n" + CODE, CODE],
    ids=lambda text: text[:20],
)
def test_code_is_found_in_any_markdown_and_alone(text: str) -> None:
    assert final_code(text) == CODE


def test_indented_code_counts_where_it_is_whole() -> None:
    indented = "".join(f"    {line}\n" for line in CODE.splitlines())
    assert final_code(f"The code:\n\n{indented}\nThat was it.\n").strip() == CODE.strip()
    prose = "        class ModelNew is what you must define, as the user said.\n\n"
    assert final_code(prose + fenced(CODE)) == CODE
    assert len(read_response(prose + fenced(CODE)).candidates) == 1


def test_the_last_block_of_the_answer_is_final_and_all_are_listed() -> None:
    response = read_response(fenced(OTHER) + "\nOr better:\n\n" + fenced(CODE) + "\nRun it:\n\n" + fenced("print(1)\n"))
    assert codes(response) == [OTHER, CODE]
    assert [candidate.number for candidate in response.candidates] == [1, 2]
    assert (final(response).number, final(response).note) == (2, "")


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
@pytest.mark.parametrize("opened", [True, False])
def test_reasoning_ends_at_its_closing_tag(tag: str, opened: bool) -> None:
    text = (f"<{tag}>\n" if opened else "") + "hm\n" + fenced(OTHER) + f"</{tag}>\n" + fenced(CODE)
    response = read_response(text)
    assert [(each.block.reasoning, each.block.code) for each in response.candidates] == [(True, OTHER), (False, CODE)]
    assert final_code(text) == CODE


def test_the_last_of_several_closing_tags_counts() -> None:
    response = read_response(fenced(OTHER) + "</think>\nmore\n" + fenced(OTHER) + "</think>\n" + fenced(CODE))
    assert [each.block.reasoning for each in response.candidates] == [True, True, False]


def test_a_closing_tag_inside_code_is_part_of_the_code() -> None:
    code = CODE + '# not the end: </think>\nTEXT = "</think>"\n'
    response = read_response("prose\n" + fenced(code))
    assert codes(response) == [code]
    assert not final(response).block.reasoning


def test_without_an_answer_the_last_block_of_the_reasoning_is_taken_and_noted() -> None:
    found = final(read_response(fenced(OTHER) + fenced(CODE) + "</think>\nThat is all.\n"))
    assert found.block.code == CODE and "reasoning" in found.note


THINKING = [
    ("<think>\n", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|im_start|>assistant\n<think>", "</think>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
]


@pytest.mark.parametrize(("opening", "closing"), THINKING)
def test_reasoning_that_never_ends_holds_no_answer(opening: str, closing: str) -> None:
    for thought in (fenced(OTHER), OTHER, "```python\n" + OTHER):
        response = read_response(opening + thought)
        assert response.candidates == () and response.rejection is not None
        assert response.rejection.category is Category.NO_CODE_BLOCK and "reasoning" in response.rejection.message
        for code in (CODE, fenced(CODE)):
            assert final_code(opening + thought + closing + code) == CODE
            assert final_code(thought + closing + code) == CODE
        assert final_code(fenced(CODE) + opening + thought) == CODE


def test_prose_and_strings_open_no_reasoning() -> None:
    code = CODE + 'TEXT = """\n<think>\n"""\n'
    assert final_code("Without a <think> tag:\n" + fenced(code)) == code


MARKERS = [
    ("<|im_start|>assistant\n", "<|im_end|>\n<|endoftext|>"),
    ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    ("<|python_tag|>", "<|eom_id|>"),
    ("<start_of_turn>model\n", "<end_of_turn>\n"),
    ("<|turn>model\n", "<turn|>"),
    ("<|channel|>final<|message|>", "<|return|>"),
    ("<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    ("<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"),
    ("thought\n<channel|>", "<turn|>\n"),
    ("[/INST] ", "</s>"),
]


ANSWERS = (CODE, fenced(CODE), fenced(CODE)[:-1], f"```python\n{CODE}", f"{CODE}```", f"python\n{CODE}```\n", f"{CODE}```\nDone.")


@pytest.mark.parametrize(("before", "behind"), MARKERS)
def test_markers_of_a_chat_template_are_no_part_of_code(before: str, behind: str) -> None:
    for answer in ANSWERS:
        assert final_code(before + answer + behind).strip() == CODE.strip(), answer


@pytest.mark.parametrize(
    "text",
    [
        "The code: ```python\n" + CODE + "```\n",
        "The code: ```\n" + CODE + "```",
        "```python\n" + CODE[:-1] + "```\nDone.\n",
        "```python\n" + CODE + "        ```\nDone.\n",
        "1. The code: ```python\n" + textwrap.indent(CODE, "   ") + "   ```\n",
        "broken =\n```\n\nAgain:\n\n```python\n" + CODE + "```\n",
        "```python\nbroken =\n\n```python\n" + CODE + "```\n",
        "Use ```pip install x```\n" + fenced(CODE),
        "Wow ~~~\n" + fenced(CODE),
        "````markdown\nText\n" + fenced(CODE) + "````\nThat was it.\n" + fenced("x = 1\n"),
    ],
    ids=lambda text: text[:20],
)
def test_a_fence_may_begin_or_end_anywhere(text: str) -> None:
    assert final_code(text).strip() == CODE.strip()


@pytest.mark.parametrize(
    "text", ['def f():\n    """Try ```x``` or\n    ```python\n    f()\n    ```\n    """  # <|im_end|> ```\n', "# ```\n"]
)
@pytest.mark.parametrize("around", [("", ""), ("```python\n", "```\n"), ("So: ```\n", "```\nDone.\n"), ("- ```\n", "  ```\n")])
def test_fences_in_whole_code_are_part_of_it(text: str, around: tuple[str, str]) -> None:
    for code in (CODE + text, text + CODE):
        indented = textwrap.indent(code, "  ") if around[0] == "- ```\n" else code
        assert codes(read_response(around[0] + indented + around[1])) == [code]


def test_broken_code_behind_a_fence_in_the_prompt_is_a_syntax_error() -> None:
    found = final(read_response("class ModelNew:\n    def f(self:\n        return\n```\nThat was it.\n"))
    assert found.rejection is not None and found.rejection.category is Category.SYNTAX_ERROR and "line 2" in found.rejection.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (fenced(CODE) + "\nBetter:\n```python\nclass ModelNew:\n    def forward(self, x:\n", "line 11"),
        (fenced(OTHER) + '</think>\n```python\nsource = """\n__global__ void f(', ""),
    ],
    ids=["within the class", "before the class, after a draft in the reasoning"],
)
def test_a_block_that_is_broken_off_is_final_and_a_syntax_error(text: str, said: str) -> None:
    found = final(read_response(text))
    assert found.number == 2 and found.rejection is not None
    assert found.rejection.category is Category.SYNTAX_ERROR and said in found.rejection.message


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("", Category.NO_CODE_BLOCK),
        ("I can't do that; class ModelNew(nn.Module) is hard.\n", Category.NO_CODE_BLOCK),
        (fenced("nvcc -o a a.cu\n", "bash"), Category.NO_CODE_BLOCK),
        (fenced("x = 1\n"), Category.MISSING_MODEL_NEW),
        (fenced("def f():\n    class ModelNew:\n        pass\n"), Category.MISSING_MODEL_NEW),
        (fenced("TEXT = '''\nclass ModelNew:\n'''\n", ""), Category.MISSING_MODEL_NEW),
        (fenced("class ModelNewer:\n    pass\n"), Category.MISSING_MODEL_NEW),
    ],
)
def test_responses_without_a_submission_say_why(text: str, category: Category) -> None:
    response = read_response(text)
    assert (response.final, response.candidates) == (None, ())
    assert response.rejection is not None and response.rejection.category is category


@pytest.mark.parametrize("part", ["```python\nx = '''\n</think>'''\n```\n", "class ModelNew x```\n", "``` y\n", "~~~ <|a|>```<|a|>"])
def test_many_tags_and_blocks_take_no_quadratic_time(part: str) -> None:
    response = read_response(part * 5000 + "\n" + fenced(CODE))
    assert codes(response)[-1] == CODE
