"""Real output of nvcc and several releases of g++, collected by tests/diagnosis/collect.py, read into diagnostics."""

import shutil

import pytest

from evaluator.build.commands import Step
from evaluator.build.diagnostics.failure_category import categorise
from evaluator.build.diagnostics.messages import MAX_INFOS, errors, parse, readable, summary
from evaluator.build.request import BuildRequest
from evaluator.results.category import Category, Status
from tests.diagnosis.collect import DATA, LINKED, SOURCES

OUTPUTS = {f"{path.parent.name}/{path.stem}": path for path in sorted(DATA.glob("*-*/*.txt"))}
RELEASES = ("nvcc-12.4", "nvcc-13.0", "g++-11", "g++-12", "g++-13", "g++-14")
MARKED = {
    "arguments": (6, "too many arguments"),
    "binding": (9, "gelu_backward"),
    "const_row": (2, "const float"),
    "const_argument": (7, 'incompatible with parameter of type "float *"'),
    "const_cast_away": (2, "invalid type conversion"),
    "host_call": (6, "calling a __host__ function"),
    "missing_include": (2, "helpers."),
    "missing_semicolon": (3, "expected "),
    "namespaced": (5, "exponential"),
    "no_overload": (5, "argument types are: (const float, double)"),
    "template_body": (3, "a tile has whole warps"),
    "undeclared": (4, "max"),
    "undeclared_device": (2, "warp_reduce_max"),
    "undeclared_type": (1, "half"),
}
"""The line and a part of the first error of each output that has a line of its own."""
CALLED = {
    "binding": Category.MISSING_BINDING,
    **dict.fromkeys(("const_row", "const_argument"), Category.CONST_POINTER),
    **dict.fromkeys(("namespaced", "undeclared", "undeclared_device", "undeclared_type"), Category.UNDECLARED_IDENTIFIER),
    "missing_include": Category.MISSING_HEADER,
    **dict.fromkeys(("const_cast_away", "host_call", "no_overload", "template_body", "huge_tile"), Category.CUDA_COMPILE_ERROR),
    **dict.fromkeys(("arguments", "inside_header"), Category.CPP_COMPILE_ERROR),
    **dict.fromkeys(("undefined", "twice"), Category.LINK_ERROR),
}
"""What each output that fails is to be called; a missing semicolon is called after its compiler."""


def said(name: str) -> str:
    return OUTPUTS[name].read_text(encoding="utf-8")


def test_there_is_output_of_several_releases_of_both_compilers() -> None:
    assert {name.split("/")[0] for name in OUTPUTS} == set(RELEASES)
    for kind in ("nvcc", "g++"):
        said_by = [{name.split("/")[1] for name in OUTPUTS if name.startswith(f"{release}/")} for release in RELEASES if kind in release]
        assert said_by[0] and said_by[1:] == said_by[:-1]


def category(name: str) -> Category:
    """By the real output and the sources that it is about."""
    compiler, stem = name.split("/")
    names = [path.name for path in sorted(SOURCES.iterdir())]
    sources = [{"name": name, "text": (SOURCES / name).read_text(encoding="utf-8")} for name in names]
    step = Step.CUDA if compiler.startswith("nvcc") else Step.LINK if stem in LINKED else Step.CPP
    request = BuildRequest.model_validate({"name": "x", "sources": sources})
    return categorise(request, step, said(name), {"vector", "torch/extension.h"}.__contains__)


def test_every_category_of_builds_that_a_compiler_tells_is_among_them() -> None:
    of_builds = {category for category in Category if category.status is Status.BUILD_FAILED}
    assert of_builds - set(CALLED.values()) == {Category.LOAD_INLINE_MISUSE, Category.BUILD_TIMEOUT}


@pytest.mark.parametrize("stem", CALLED)
def test_each_release_leads_to_the_same_category(stem: str) -> None:
    assert {category(name) for name in OUTPUTS if name.endswith(f"/{stem}")} == {CALLED[stem]}


def test_a_missing_semicolon_is_called_after_its_compiler() -> None:
    for release in RELEASES:
        expected = Category.CUDA_COMPILE_ERROR if release.startswith("nvcc") else Category.CPP_COMPILE_ERROR
        assert category(f"{release}/missing_semicolon") is expected


@pytest.mark.parametrize("stem", MARKED)
def test_the_first_error_and_its_line(stem: str) -> None:
    line, words = MARKED[stem]
    for name in OUTPUTS:
        if name.endswith(f"/{stem}"):
            first = errors(parse(said(name)))[0]
            assert (first.line, words in first.message) == (line, True), (name, first)


def test_everything_that_fails_has_a_summary() -> None:
    for name in OUTPUTS:
        assert bool(summary(parse(said(name)))) == ("error" in said(name)), name


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name.endswith("inside_header")])
def test_an_error_in_a_header_names_the_line_that_asked_for_it(name: str) -> None:
    first = errors(parse(said(name)))[0]
    assert first.file.startswith("/usr/include")
    assert (first.asked_file, first.asked_line) == ("inside_header.cpp", 5)
    assert summary([first]).startswith("inside_header.cpp:5: no match for 'operator-'")


@pytest.mark.parametrize("release", ["nvcc-12.4", "nvcc-13.0"])
def test_an_instantiation_is_traced_to_its_outermost_line(release: str) -> None:
    (error,) = errors(parse(said(f"{release}/template_body")))
    assert (error.line, error.asked_file, error.asked_line) == (3, "template_body.cu", 14)


@pytest.mark.parametrize("release", ["nvcc-12.4", "nvcc-13.0"])
def test_errors_that_follow_from_others_come_after_them(release: str) -> None:
    messages = [error.message for error in errors(parse(said(f"{release}/host_call")))]
    follows = [message.endswith("is undefined in device code") for message in messages]
    assert follows == sorted(follows) and any(follows)
    assert "slope(float)" in messages[3]


@pytest.mark.parametrize(
    ("release", "spilling"),
    [
        ("nvcc-12.4", "1176 bytes of local memory, spilling 1368 bytes of stores and 1524 of loads"),
        ("nvcc-13.0", "1184 bytes of local memory, spilling 1364 bytes of stores and 1532 of loads"),
    ],
)
def test_what_ptxas_tells_of_each_kernel_is_kept(release: str, spilling: str) -> None:
    infos = [item.message for item in parse(said(f"{release}/spills"))]
    assert infos == ["`plain`: 10 registers", f"`spilling`: 32 registers, {spilling}"]
    assert "66048 bytes of static shared memory" in parse(said(f"{release}/big_tile"))[0].message


@pytest.mark.parametrize(("release", "most"), [("nvcc-12.4", "0x29000"), ("nvcc-13.0", "0x38c00")])
def test_an_error_of_ptxas_without_a_line_names_the_kernel(release: str, most: str) -> None:
    told = summary(parse(said(f"{release}/huge_tile")))
    assert told == f"ptxas: Entry function 'huge' uses too much shared data (0x4b000 bytes, {most} max)"


def test_lost_performance_is_kept() -> None:
    text = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient registers\n"
    assert [item.message[:7] for item in parse(text)] == ["(C7510)"]


def test_a_message_that_both_passes_print_is_kept_once() -> None:
    text = said("nvcc-13.0/const_row")
    assert len(parse(text + text)) == len(parse(text)) == 1


def test_the_warnings_come_after_the_errors() -> None:
    text = "a.cpp:1:2: warning: unused\na.cpp:3:4: error: wrong\ncollect2: error: ld returned 1 exit status\na.cpp:5:1: error: more\n"
    assert [(item.severity, item.line) for item in parse(text)] == [("error", 3), ("error", 5), ("error", None), ("warning", 1)]


def test_a_flood_of_kernels_is_capped() -> None:
    text = "".join(
        f"ptxas info    : Compiling entry function '_Z{len(f'k{i}')}k{i}v' for 'sm_90a'\nptxas info    : Used 9 registers\n"
        for i in range(500)
    )
    assert len(parse(text)) == MAX_INFOS


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z7softmaxPKfPfi", "softmax"),
        ("_ZN6detail4fastILi4EEEvPf", "fast"),
        ("_ZN12_GLOBAL__N_15tiledIfLi32EEEvPKT_", "tiled"),
        ("_Z5tiledIfLi32EEvPKT_", "tiled"),
        ("plain_c", "plain_c"),
        ("_Z", "_Z"),
        ("_Z9999abc", "abc"),
    ],
)
def test_the_name_in_a_mangled_symbol(symbol: str, name: str) -> None:
    assert readable(symbol) == name


@pytest.mark.build
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_compiler_of_this_machine_speaks_as_the_collected_ones() -> None:
    import subprocess

    for path in sorted(SOURCES.glob("*.cpp")):
        if path.stem not in MARKED:
            continue
        done = subprocess.run(
            ["g++", "-c", path.name, "-o", "/dev/null"],
            cwd=SOURCES,
            capture_output=True,
            text=True,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
        line, words = MARKED[path.stem]
        first = errors(parse(done.stderr))[0]
        assert (first.line, words in first.message) == (line, True), path.name
