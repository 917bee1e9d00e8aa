"""The category of a failed build, derived from the messages of its compilers and linker."""

import re
from collections.abc import Callable, Sequence

from evaluator.build.commands import Step
from evaluator.build.diagnostics.headers import is_of_this_machine
from evaluator.build.diagnostics.messages import errors, parse
from evaluator.build.request import BuildRequest
from evaluator.results.category import Category
from evaluator.results.evidence import Diagnostic

_CONST_POINTER = re.compile(
    r"""of\ type\ "const\ [^"]*\*[^"]*"\ cannot\ be\ (?:used\ to\ initialize|assigned\ to)\ an\ entity\ of\ type\ "(?!const\b)[^"]*\*
      | of\ type\ "const\ [^"]*\*[^"]*"\ is\ incompatible\ with\ parameter\ of\ type\ "(?!const\b)[^"]*\*
      | invalid\ conversion\ from\ .const\ [^'’]*\*[^'’]*.\ to\ .(?!const\b)[^'’]*\*
      | (?:reinterpret|static)_cast\ cannot\ cast\ away\ const
      | (?:reinterpret|static)_cast.\ from\ type\ .const\ .*\ casts\ away\ qualifiers
    """,
    re.VERBOSE,
)
_UNDECLARED = re.compile(
    r"""identifier\ "(?P<edg>[^"]+)"\ is\ undefined
      | ^['‘](?P<gnu>[^'’]+)['’]\ was\ not\ declared\ in\ this\ scope
      | namespace\ "[^"]*"\ has\ no\ member\ "(?P<member>[^"]+)"
      | ^['‘](?P<qualified>[^'’]+)['’]\ is\ not\ a\ member\ of\ ['‘]
      | ^['‘](?P<type>[^'’]+)['’]\ (?:does\ not\ name\ a\ type|in\ namespace\ \S+\ does\ not\ name\ a)
    """,
    re.VERBOSE,
)
_MISSING_HEADER = re.compile(r'^(?P<gnu>[^:]+): No such file or directory$|^(?:cannot|could not) open source file "(?P<edg>[^"]+)"')
_MISSING_LIBRARY = re.compile(r"^cannot find -l(?P<name>[\w.+-]+)")
_OUT_OF_RESOURCES = re.compile(
    r"""^(?:[\w+/.-]+:\ (?:fatal\ )?error:\ (?:Killed\ signal\ terminated\ program|\w+\ terminated\ with\ signal\ 9)\b.*
      | nvcc\ error\s*:\ '[\w+-]+'\ died\ due\ to\ signal\ 9\b.*
      | (?:[\w+/.-]+:\ )?(?:virtual\ memory\ exhausted|out\ of\ memory\ allocating)\b.*
      | (?:(?:[\w+/.-]+|<built-in>|\{standard\ input\}):\ (?:[Ff]atal\ error|error|final\ link\ failed):\ (?:[^:\n]+:\ ){0,3}
        |(?:nvcc|ptxas)\ fatal\s*:\ (?:[^:\n]+:\ ){0,3}
        |[^\s:]+:[0-9]+(?::[0-9]+)?:\ fatal\ error:\ error\ (?:writing\ to|closing)\ [^\s:]+:\ )
        '?(?:Cannot\ allocate\ memory|No\ space\ left\ on\ device|Disk\ quota\ exceeded|Resource\ temporarily\ unavailable)'?)$
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Matches whole lines printed by the compilers, so that the same words quoted from a source don't count."""
_UNMADE_OBJECT = re.compile(r"^\S+\.o: No such file or directory$")
"""What the assembler adds about an object that it could not write."""
_LINE_DIRECTIVE = re.compile(r"(?:^|\*/)[ \t\f\v]*(?:#|%:|\?\?=)[ \t\f\v]*(?:line\b|[0-9]|/\*)", re.MULTILINE)
_SPLICE = re.compile(r"\\[^\S\n]*\n")
_BINDING = re.compile(r'^m\.def\("(?P<name>[^"]+)", (?:torch::wrap_pybind_function\()?(?P=name)\)?, ".*"\);$', re.MULTILINE)

HeaderExists = Callable[[str], bool]
"""Whether this machine has the header of that name, such as "cublas_v2.h"."""


def categorise(request: BuildRequest, step: Step, output: str, header_exists: HeaderExists) -> Category:
    """Why a command failed, derived from the first error in its `output`.

    `header_exists` distinguishes a header that the submission invented from one in a part of the toolkit that is not installed here.
    """
    if _lacks_resources(output):
        return Category.INFRASTRUCTURE_ERROR
    otherwise = {Step.CPP: Category.CPP_COMPILE_ERROR, Step.CUDA: Category.CUDA_COMPILE_ERROR, Step.LINK: Category.LINK_ERROR}[step]
    found = errors(parse(output))
    if not found:
        return otherwise
    first = found[0]
    if library := _MISSING_LIBRARY.match(first.message):
        return Category.NO_TOOLCHAIN if is_of_this_machine(f"lib{library['name']}", header_exists) else Category.LINK_ERROR
    if header := _MISSING_HEADER.match(first.message):
        # This error ends the compile. If another error follows, the source printed this one.
        elsewhere = len(found) == 1 and (is_of_this_machine(header["gnu"] or header["edg"], header_exists) or _is_of_others(request, first))
        return Category.NO_TOOLCHAIN if elsewhere else Category.MISSING_HEADER
    if _CONST_POINTER.search(first.message):
        return Category.CONST_POINTER
    if undeclared := _UNDECLARED.search(first.message):
        names = {name for name in undeclared.groupdict().values() if name}
        return Category.MISSING_BINDING if _is_binding(request, first, names) else Category.UNDECLARED_IDENTIFIER
    return otherwise


def _lacks_resources(output: str) -> bool:
    """Whether the machine ran out of a resource and there is no other error. A source can print any line, through a message with a line
    break in it, but such a failing build also has an error of its own."""
    rest, shortages = _OUT_OF_RESOURCES.subn("", output)
    return shortages > 0 and all(item.line is None and _UNMADE_OBJECT.match(item.message) for item in errors(parse(rest)))


def _is_of_others(request: BuildRequest, error: Diagnostic) -> bool:
    """Whether an error is in a header outside the request; compilers name such a header with its path."""
    if any(names_lines(unspliced(file.text)) for file in request.sources + request.headers):
        return False
    return error.file.startswith("/")


def unspliced(text: str) -> str:
    """`text` as a compiler reads it: a line that ends in a backslash, blanks after it or not, continues in the next."""
    return _SPLICE.sub("", text)


def names_lines(text: str) -> bool:
    """Whether a source assigns its lines to other files (`#line`). `text` is `unspliced`."""
    return bool(_LINE_DIRECTIVE.search(text))


def _is_binding(request: BuildRequest, error: Diagnostic, names: set[str]) -> bool:
    """Whether the error is in a line that load_inline generated to bind one of `names`."""
    source = next((file for file in request.sources if file.name == error.file), None)
    if source is None or error.line is None:
        return False
    lines = source.text.split("\n")
    binding = _BINDING.match(lines[error.line - 1]) if error.line <= len(lines) else None
    return binding is not None and binding["name"] in names


def first_fault(categories: Sequence[Category]) -> Category:
    """The category of several failed commands, in the plan's order: the submission's faults come before the machine's."""
    machine = (Category.NO_TOOLCHAIN, Category.INFRASTRUCTURE_ERROR)
    return next((category for category in categories if category not in machine), categories[0])
