"""Problems that declare nothing, written out by what they compute and draw."""

from pathlib import Path

from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase

TEXT = """
import torch
from torch import nn

{before}

class Model(nn.Module):
    def forward(self, {parameters}):
        {body}

def get_inputs():
    {drawn}

def get_init_inputs():
    return []
"""


def plain_case(
    folder: Path, drawn: str, body: str = "return x", parameters: str = "x", *, before: str = "", declared: str = ""
) -> ProblemCase:
    """The one case. `drawn` is the body of get_inputs(), or the list that it returns; `declared` the text of a declaration."""
    text = TEXT.format(before=before, parameters=parameters, body=body, drawn=drawn if "return" in drawn else f"return [{drawn}]")
    path = folder / "plain.py"
    path.write_text(text + (f"\nASSAY = {declared}\n" if declared else ""))
    return load(path).instance("full")
