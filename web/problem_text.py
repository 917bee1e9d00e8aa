"""Reads a problem's description, level and tags from its text. The text is never run."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from evaluator.problem.declaration import DECLARATION_NAME

MAX_CHARACTERS = 200_000
"""Maximum characters of a text that is read."""
MAX_DESCRIPTION = 200
_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class ProblemText:
    """Facts from a problem's text; empty if it can't be read."""

    description: str = ""
    level: int | None = None
    tags: tuple[str, ...] = ()


def read(source: str | None) -> ProblemText:
    """The first sentence of the module's docstring, declared description or Model's docstring; the declared level and tags."""
    if source is None or len(source) > MAX_CHARACTERS:
        return ProblemText()
    try:
        tree = ast.parse(source)
        declared = dict(_declared(tree))
        model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
        told = ast.get_docstring(tree) or declared.get("description") or (ast.get_docstring(model) if model else None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ProblemText()
    level, tags = declared.get("level"), declared.get("tags")
    return ProblemText(
        _first_sentence(str(told or "")),
        level if isinstance(level, int) else None,
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else (),
    )


def _declared(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """The plain values of the text's declaration, by name."""
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Dict) and any(isinstance(target, ast.Name) and target.id == DECLARATION_NAME for target in targets):
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in ("description", "level", "tags"):
                    with suppress(ValueError, TypeError):
                        yield str(key.value), ast.literal_eval(item)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    sentence = _END.split(paragraph)[0]
    return sentence if len(sentence) <= MAX_DESCRIPTION else sentence[:MAX_DESCRIPTION] + "…"
