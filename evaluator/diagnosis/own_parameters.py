"""Words on parameters without a counterpart in the reference: the submission then computes with other numbers."""

from difflib import SequenceMatcher

from evaluator.results.evidence import ParametersEvidence

SHOWN = 3
"""Maximum number of parameters that are named."""


def unlike_the_references(parameters: ParametersEvidence | None) -> str:
    """The parameters without a counterpart, and what to do. Empty if each has one, or there is nothing to compare."""
    if parameters is None or not (parameters.unmatched or parameters.missing):
        return ""
    several = len(parameters.unmatched or parameters.missing) > 1
    noun, named = ("parameters", "their names") if several else ("parameter", "its name")
    if not parameters.unmatched:
        verb = "have" if several else "has"
        return f"reference {noun} {_listed(parameters.missing)} {verb} no counterpart here, by name or values: {_remedy(named)}"
    verb = "match" if several else "matches"
    text = f"its {noun} {_listed(parameters.unmatched, quoted=True)} {verb} no reference parameter by name or values"
    counterparts = _counterparts(parameters)
    if not counterparts:
        return f"{text}: {_remedy('')}"
    return f"{text}; the reference has {_listed(counterparts)}: {_remedy(named)}"


def _remedy(named: str) -> str:
    return f"construct the same layers in the same order{f', or use {named}' if named else ''}"


def _counterparts(parameters: ParametersEvidence) -> tuple[str, ...]:
    """For each unmatched parameter, in order: the missing one of its shape with the most similar name. If there is none, all missing."""
    left, found = list(parameters.missing), []
    for own in parameters.unmatched:
        name, shape = _split(own)
        alike = [other for other in left if _split(other)[1] == shape]
        if alike:
            nearest = max(alike, key=lambda other: SequenceMatcher(None, name, _split(other)[0]).ratio())
            left.remove(nearest)
            found.append(nearest)
    return tuple(found) or parameters.missing


def _listed(parameters: tuple[str, ...], quoted: bool = False) -> str:
    shown = [f"'{name}' {shape}" if quoted else f"{name} {shape}" for name, shape in map(_split, parameters[:SHOWN])]
    others = len(parameters) - len(shown)
    return ", ".join(shown) + (f" and {others} other{'s' if others > 1 else ''}" if others else "")


def _split(parameter: str) -> tuple[str, str]:
    """The name and the shape in `weight (64, 32)`."""
    name, _, shape = parameter.partition(" ")
    return name, shape
