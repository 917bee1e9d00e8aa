"""Which small errors are put into the judge's code."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of a file."""

    file: str
    """Relative to the root."""
    line: int
    operator: str
    """Cosmic Ray's name."""
    occurrence: int
    """Counts the places of the file that the operator can change."""
    key: str
    """Decides on the sample. Depends on the file's name, the line's text, the operator, and the place's number among all with these."""

    def apply(self, source: str) -> str | None:
        """The changed file; None if the change is none by construction, or leaves no Python."""
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        changed: str = mutate_code(source, get_operator(self.operator)(), self.occurrence)
        try:
            return changed if _bare(changed) != _bare(source) else None
        except SyntaxError:
            return None


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All of Cosmic Ray's mutants of a file, also those that `apply` refuses."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes, lines = list(ast_nodes(get_ast(source))), source.splitlines()
    for name in operator_names():
        if get_operator(name).arguments():
            continue  # needs names of variables
        seen: Counter[str] = Counter()
        places = [(node, start) for node in nodes for start, _ in get_operator(name)().mutation_positions(node)]
        for occurrence, (node, (line, _)) in enumerate(places):
            if node.parent is not None and node.parent.type == "parameters":
                continue  # `*` and `/` are no operators there
            text = lines[line - 1].strip()
            key = hashlib.sha256("\0".join((file, text, name, str(seen[text]))).encode()).hexdigest()
            seen[text] += 1
            yield Mutant(file, line, name, occurrence, key)


def sample(sources: dict[str, str], count: int) -> dict[Mutant, str]:
    """The mutants with the smallest keys, with their changed files. An edit elsewhere leaves them the same."""
    found: dict[Mutant, str] = {}
    for mutant in sorted((one for file, source in sources.items() for one in mutants_of(file, source)), key=lambda one: one.key):
        if len(found) == count:
            break
        if (changed := mutant.apply(sources[mutant.file])) is not None:
            found[mutant] = changed
    return found


def _bare(source: str) -> str:
    """What a file does: its syntax tree without docstrings, annotations, `__all__`, and imports for type checkers."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                setattr(node, name, None)
            elif name in ("body", "orelse", "finalbody") and isinstance(value, list):
                value[:] = [statement for statement in value if not _is_for_readers(statement)]
    return ast.dump(tree)


def _is_for_readers(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Constant(str())) | ast.ImportFrom(module="__future__"):
            return True
        case ast.If():
            return any(isinstance(node, ast.Name) and node.id == "TYPE_CHECKING" for node in ast.walk(statement.test))
        case ast.Assign([ast.Name("__all__")]) | ast.AnnAssign(value=None):
            return True
    return False


def place(parent: ast.AST, line: int, in_function: bool = False) -> tuple[range, bool]:
    """Lines of the statement, or the head of a compound one, that holds the line, and whether a call runs them, not the import."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.match_case):
            first, last = node.pattern.lineno, node.body[-1].end_lineno or 0
        elif isinstance(node, ast.stmt | ast.excepthandler):
            first, last = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]), node.end_lineno or 0
        else:
            continue
        if first <= line <= last:
            body: list[ast.stmt] | None = getattr(node, "body", None)
            if body is None:
                return range(first, last + 1), in_function
            if line < body[0].lineno:
                return range(first, body[0].lineno), in_function
            return place(node, line, in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return range(line, line + 1), in_function
