"""Model responses in all the shapes that models give them."""

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
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_a_fence_under_any_tag_that_holds_the_class_is_the_answer(tag: str, fence: str) -> None:
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
    for text in (fenced(OTHER) + fenced(CODE) + "</think>\nThat is all.\n", "<think>\n" + fenced(CODE)):
        found = final(read_response(text))
        assert found.block.code == CODE and "reasoning" in found.note


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


def test_many_tags_and_blocks_take_no_quadratic_time() -> None:
    response = read_response("```python\nx = '''\n</think>'''\n```\n" * 5000 + fenced(CODE))
    assert codes(response) == [CODE]
