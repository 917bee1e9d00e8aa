"""Model responses in all the shapes that models give them."""

import pytest

from evaluator.results.category import Category
from evaluator.submission.response import Response, read_response

CODE = "import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
OTHER = "class ModelNew:\n    other = True\n"


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


def codes(response: Response) -> list[str]:
    return [candidate.block.code for candidate in response.candidates]


def final_code(text: str) -> str:
    response = read_response(text)
    assert response.final is not None, response.rejection
    assert response.final.rejection is None, response.final.rejection
    return response.final.block.code


@pytest.mark.parametrize("tag", ["python", "py", "Python", "", "cuda", "python title=x", "{.python}"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_a_fence_under_any_tag_that_holds_the_class_is_the_answer(tag: str, fence: str) -> None:
    assert final_code("Here it is:\n\n" + fenced(CODE, tag, fence) + "\nEnjoy.\n") == CODE


def test_lines_of_the_file_are_counted() -> None:
    response = read_response("a\n\nb\n" + fenced(CODE))
    assert response.final is not None
    assert response.final.block.first_line == 5


def test_a_fence_in_a_list_and_a_quote_loses_its_indentation() -> None:
    in_list = "1. The code:\n\n" + "".join(f"   {line}\n" for line in fenced(CODE).splitlines())
    in_quote = "".join(f"> {line}\n" for line in fenced(CODE).splitlines())
    assert final_code(in_list) == CODE
    assert final_code(in_quote) == CODE


def test_indented_code_counts_where_it_is_whole() -> None:
    indented = "".join(f"    {line}\n" for line in CODE.splitlines())
    assert final_code(f"The code:\n\n{indented}\nThat was it.\n").strip() == CODE.strip()
    prose = "        class ModelNew is what you must define, as the user said.\n\n"
    assert final_code(prose + fenced(CODE)) == CODE
    assert len(read_response(prose + fenced(CODE)).candidates) == 1


def test_a_fence_that_is_never_closed_goes_to_the_end() -> None:
    assert final_code("```python\n" + CODE) == CODE


def test_a_whole_answer_in_a_markdown_fence() -> None:
    response = read_response("````markdown\nText\n" + fenced(CODE) + "````\n")
    assert response.final is not None
    assert (response.final.block.code, response.final.block.first_line) == (CODE, 4)


def test_html_before_a_fence_does_not_hide_it() -> None:
    assert final_code("<answer>\n" + fenced(CODE) + "</answer>\n") == CODE


def test_the_last_block_of_the_answer_is_final_and_all_are_listed() -> None:
    response = read_response(fenced(OTHER) + "\nOr better:\n\n" + fenced(CODE) + "\nRun it:\n\n" + fenced("print(1)\n"))
    assert codes(response) == [OTHER, CODE]
    assert [candidate.number for candidate in response.candidates] == [1, 2]
    assert response.final is not None
    assert (response.final.number, response.final.note) == (2, "")


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


def test_an_open_fence_in_the_reasoning_does_not_swallow_the_answer() -> None:
    assert final_code("```python\nimport tor\n</think>\n" + fenced(CODE)) == CODE
    assert final_code("so:</think>" + fenced(CODE)) == CODE


def test_a_closing_tag_inside_code_is_part_of_the_code() -> None:
    code = CODE + '# not the end: </think>\nTEXT = "</think>"\n'
    response = read_response("prose\n" + fenced(code))
    assert codes(response) == [code]
    assert response.final is not None
    assert not response.final.block.reasoning


def test_without_an_answer_the_last_block_of_the_reasoning_is_taken_and_noted() -> None:
    for text in (fenced(OTHER) + fenced(CODE) + "</think>\nThat is all.\n", "<think>\n" + fenced(CODE)):
        response = read_response(text)
        assert response.final is not None
        assert response.final.block.code == CODE
        assert "reasoning" in response.final.note


def test_a_block_broken_off_within_the_class_is_final_and_a_syntax_error_with_its_line() -> None:
    response = read_response(fenced(CODE) + "\nBetter:\n```python\nclass ModelNew:\n    def forward(self, x:\n")
    assert response.final is not None
    assert response.final.number == 2
    assert response.final.rejection is not None
    assert response.final.rejection.category is Category.SYNTAX_ERROR
    assert "line 11" in response.final.rejection.message


def test_an_answer_broken_off_before_the_class_is_a_syntax_error_even_after_reasoning_with_a_draft() -> None:
    response = read_response(fenced(OTHER) + '</think>\n```python\nsource = """\n__global__ void f(')
    assert response.final is not None
    assert response.final.number == 2
    assert response.final.rejection is not None
    assert response.final.rejection.category is Category.SYNTAX_ERROR


def test_a_response_that_is_plain_python_is_code() -> None:
    assert final_code(CODE) == CODE
    response = read_response("thoughts\n</think>\n" + CODE)
    assert response.final is not None
    assert (response.final.block.code.strip(), response.final.block.first_line) == (CODE.strip(), 2)


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
    assert response.final is None
    assert response.candidates == ()
    assert response.rejection is not None
    assert response.rejection.category is category


def test_many_tags_and_blocks_take_no_quadratic_time() -> None:
    response = read_response("```python\nx = '''\n</think>'''\n```\n" * 5000 + fenced(CODE))
    assert codes(response) == [CODE]
