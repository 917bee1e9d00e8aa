"""Long texts, names and paths."""

import pytest

from evaluator.diagnosis.words import cut_middle, plain_name, without_paths
from tests.diagnosis.growth import GROWS_LIKE_ITSELF, growth


def test_a_long_text_keeps_both_ends() -> None:
    text = "first " + "x" * 5000 + " last"
    cut = cut_middle(text, 100)
    assert len(cut) <= 100
    assert cut.startswith("first ") and cut.endswith(" last") and "characters" in cut
    assert cut_middle("short", 100) == "short"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/x/torch/include/c10.h:12: no", "c10.h:12: no"),
        ('in "/usr/lib/a.so"', 'in "a.so"'),
        ("a/b is a quotient, and / a slash", "a/b is a quotient, and / a slash"),
        ("torch/extension.h", "torch/extension.h"),
    ],
)
def test_paths_of_the_machine_are_not_shown(text: str, shown: str) -> None:
    assert without_paths(text) == shown


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("void detail::softmax<float, 4>(float const*, float*)", "softmax"),
        ("k", "k"),
        ("(anonymous namespace)::f(int)", "f"),
        ("", ""),
        ("void f<(1>2), g<h<int> > >(int (*)(int))", "f"),
        ("f<(a<b)>(int)", "f"),
        ("n::operator<<(int)", "operator<<"),
        ("void (f)", "void"),
        ("a)b>c", "a)b>c"),
    ],
)
def test_the_plain_name_of_a_kernel(kernel: str, name: str) -> None:
    assert plain_name(kernel) == name


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("<", ">"), ("<", ""), ("(<", ">)"), ("<(", ")"), ("(", ">")])
def test_naming_takes_time_that_grows_with_the_name_alone(opening: str, closing: str) -> None:
    assert growth(plain_name, lambda size: "f" + opening * size + closing * size, 4000) < GROWS_LIKE_ITSELF


@pytest.mark.parametrize("text", ["/a", "/a@", "/", "a/", "/@ ", "//a/"])
def test_paths_are_found_in_time_that_grows_with_the_text_alone(text: str) -> None:
    assert growth(without_paths, lambda size: text * size, 4000) < GROWS_LIKE_ITSELF
