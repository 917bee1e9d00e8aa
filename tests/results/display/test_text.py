"""Texts for people."""

from evaluator.results.display.text import natural


def test_names_are_sorted_as_people_order_them() -> None:
    names = ["add10.py", "10", "9_add_2.py", "", "add.py", "2", "10_add.py", "add2.py", "9_add.py"]
    assert sorted(names, key=natural) == ["", "2", "9_add.py", "9_add_2.py", "10", "10_add.py", "add.py", "add2.py", "add10.py"]
    assert natural("9" * 5000) == "9" * 5000, "no number is too long"
