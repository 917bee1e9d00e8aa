"""Words on parameters of a submission that have no counterpart among the reference's: its answer is then computed from other numbers."""

from difflib import SequenceMatcher

from evaluator.results.evidence import ParametersEvidence

SHOWN = 3
"""How many parameters are named."""


def unlike_the_references(parameters: ParametersEvidence | None) -> str:
    """Which have no counterpart, by name, and what to do; empty where each has one, or there is nothing to compare."""
    if parameters is None or not (parameters.unmatched or parameters.missing):
        return ""
    if not parameters.unmatched:
        these, it = _listed(parameters.missing), "one" if len(parameters.missing) == 1 else "some"
        return f"no parameter of its own has the name or the values of the reference's {these}: {_remedy(it)}"
    several = len(parameters.unmatched) > 1
    whose, verb = ("parameters", "have") if several else ("parameter", "has")
    text = f"its {whose} {_listed(parameters.unmatched, quoted=True)} {verb} neither the name nor the values of one of the reference's"
    counterparts = _counterparts(parameters)
    if not counterparts:
        return f"{text}: {_remedy('')}"
    return f"{text}, which has {_listed(counterparts)}: {_remedy('them' if several else 'it')}"


def _remedy(named: str) -> str:
    return f"construct the same layers in the same order{f', or name {named} so' if named else ''}"


def _counterparts(parameters: ParametersEvidence) -> tuple[str, ...]:
    """For each of the unmatched, in order, the missing one of its shape with the name most like its own."""
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
