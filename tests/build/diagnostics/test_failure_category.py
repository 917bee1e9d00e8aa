import subprocess
from pathlib import Path

import pytest

from evaluator.build.commands import Step
from evaluator.build.diagnostics.failure_category import categorise, first_fault
from evaluator.build.diagnostics.messages import MAX_WARNINGS, errors, parse, summary
from evaluator.build.request import BuildRequest
from evaluator.results.category import Category
from tests.build.conftest import DATA

BINDING = """namespace at { struct Tensor {}; }
struct Module { template <class F> void def(const char*, F, const char*) {} };
at::Tensor relu(at::Tensor x);
void bind(Module& m) {
m.def("relu", relu, "relu");
m.def("softmax_forward", softmax_forward, "softmax_forward");
}
"""
FILES = ["const_arg", "missing_header", "cutlass", "bad_ptx", "ctx", "cuda"]
CPP_FILES = ["missing_header", "const", "syntax"]
INSTALLED = {"cuda_runtime.h", "torch/extension.h", "thrust/version.h"}


def request(binding: str = BINDING) -> BuildRequest:
    files = [{"name": "main.cpp", "text": binding}]
    files += [{"name": f"{name}.cu", "text": ""} for name in FILES] + [{"name": f"{name}.cpp", "text": ""} for name in CPP_FILES]
    return BuildRequest.model_validate({"name": "x", "sources": files})


def text(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def called(name: str, step: Step) -> Category:
    return categorise(request(), step, text(name), INSTALLED.__contains__)


@pytest.mark.parametrize(
    ("name", "step", "category"),
    [
        ("nvcc_cutlass", Step.CUDA, Category.NO_TOOLCHAIN),
        ("nvcc_torch_header_lacks_cusparse", Step.CUDA, Category.NO_TOOLCHAIN),
        ("nvcc_bad_ptx", Step.CUDA, Category.CUDA_COMPILE_ERROR),
        ("nvcc_unknown_option", Step.CUDA, Category.CUDA_COMPILE_ERROR),
        ("gxx_killed", Step.CPP, Category.INFRASTRUCTURE_ERROR),
        ("gxx_out_of_memory", Step.CPP, Category.INFRASTRUCTURE_ERROR),
        ("ld_cannot_find", Step.LINK, Category.LINK_ERROR),
        ("ld_lacks_cublas", Step.LINK, Category.NO_TOOLCHAIN),
    ],
)
def test_category_of_real_output(name: str, step: Step, category: Category) -> None:
    assert called(name, step) is category


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nvcc_unknown_option", "nvcc: Unknown option '--no-such-flag'"),
        ("gxx_missing_binding", "main.cpp:6: 'softmax_forward' was not declared in this scope"),
        ("ld_undefined_reference", "undef.cpp: undefined reference to `softmax_forward(at::Tensor)'"),
        ("ld_cannot_find", "ld: cannot find -lmine: No such file or directory"),
        ("loader_undefined_symbol", "./u.so: undefined symbol: _Z15softmax_forwardN2at6TensorE"),
    ],
)
def test_summary_names_the_first_error_and_its_place(name: str, line: str) -> None:
    assert summary(parse(text(name))) == line


def test_parse_reads_lines_columns_and_severities() -> None:
    found = parse(text("gxx_syntax"))
    assert [(item.file, item.line, item.column, item.severity) for item in found] == [
        ("syntax.cpp", 3, 5, "error"),
        ("syntax.cpp", 4, 1, "warning"),
    ]
    assert [item.line for item in parse(text("nvcc_const_arg"))] == [3, 5, 7]
    assert parse(text("nvcc_missing_header"))[0].severity == "fatal error"
    assert [item.line for item in errors(parse(text("nvcc_bad_ptx")))] == [26, 26, 26]


def test_parse_of_a_clean_build_and_of_noise_is_empty() -> None:
    assert parse("") == ()
    assert parse("\x00\ufffd(((:::\n" * 50 + "a" * 100_000) == ()
    assert summary(()) == ""


def test_parse_of_a_flood_is_capped_and_keeps_the_error_after_it() -> None:
    flood = "".join(f"a.cpp:{i}:1: warning: unused\n" for i in range(1, 5000)) + "a.cpp:9:1: error: real\n"
    found = parse(flood)
    assert len(found) == MAX_WARNINGS + 1
    assert summary(found) == "a.cpp:9: real"


def test_undeclared_name_outside_the_generated_binding_is_no_missing_binding() -> None:
    elsewhere = request(BINDING.replace('m.def("softmax_forward", softmax_forward, "softmax_forward");', "  softmax_forward(1);"))
    assert categorise(elsewhere, Step.CPP, text("gxx_missing_binding"), INSTALLED.__contains__) is Category.UNDECLARED_IDENTIFIER


def test_binding_with_error_handling_is_recognised() -> None:
    wrapped = request(BINDING.replace("softmax_forward, ", "torch::wrap_pybind_function(softmax_forward), "))
    assert categorise(wrapped, Step.CPP, text("gxx_missing_binding"), INSTALLED.__contains__) is Category.MISSING_BINDING


def test_quoting_a_killed_compiler_does_not_shift_the_blame() -> None:
    quoted = (
        "main.cpp:1:2: error: #error g++: fatal error: Killed signal terminated program cc1plus\n    1 | #error out of memory allocating\n"
    )
    assert categorise(request(), Step.CPP, quoted, INSTALLED.__contains__) is Category.CPP_COMPILE_ERROR


DISK_FULL = {
    "as": """/tmp/cci9wa6J.s: Assembler messages:
/tmp/cci9wa6J.s: Fatal error: can't fill 256 bytes in section .data of main.o: 'No space left on device'
/tmp/cci9wa6J.s: Fatal error: main.o: No such file or directory
""",
    "as behind a pipe": """{standard input}: Assembler messages:
{standard input}: Fatal error: can't write 40 bytes to section .comment of main.o: 'No space left on device'
""",
    "cc1plus": """main.cpp:2:78: fatal error: error writing to /tmp/ccDy0RoD.s: No space left on device
    2 | int f(std::vector<int>&v){v.push_back(1);return v.size();} char x[100000]={1};
      |                                                                              ^
compilation terminated.
""",
    "the preprocessor": """<built-in>: fatal error: when writing output to tmpxft_00004c52_00000000-5_cuda.cpp4.ii: No space left on device
compilation terminated.
""",
    "ld": "/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status\n",
    "a process": "c++: fatal error: cannot execute 'cc1plus': vfork: Resource temporarily unavailable\ncompilation terminated.\n",
    "collect2": "collect2: fatal error: ld terminated with signal 9 [Killed]\ncompilation terminated.\n",
    "nvcc": "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
}
"""What the tools print, of which the first five were run in a folder of 16 KiB."""
FORGED = """
No space left on device
c++: fatal error: Killed signal terminated program cc1plus
main.cpp:5:1: fatal error: error writing to /tmp/x.s: No space left on device
/usr/include/x.h:1:1: fatal error: cuda_fp8.h: No such file or directory
"""


@pytest.mark.parametrize("name", DISK_FULL)
def test_what_the_machine_lacks_is_not_the_submissions_fault(name: str) -> None:
    assert categorise(request(), Step.CPP, DISK_FULL[name], INSTALLED.__contains__) is Category.INFRASTRUCTURE_ERROR
    after = DISK_FULL[name] + "main.cpp:9:1: error: expected ';'\n"
    assert categorise(request(), Step.CPP, after, INSTALLED.__contains__) is Category.CPP_COMPILE_ERROR


@pytest.mark.parametrize(
    "output",
    [
        "main.cpp:1:15: error: static assertion failed: hm" + FORGED + '    1 | static_assert(false, "hm");\n',
        'const_init.cu(1): error: static assertion failed with "hm' + FORGED,
        "main.cpp:1:17: note: '#pragma message: a" + FORGED + "main.cpp: Assembler messages:\nmain.cpp:4: Error: .err encountered\n",
        "main.cpp:1:17: note: '#pragma message: a" + FORGED + "main.cpp:9:1: error: expected ';'\n",
    ],
)
@pytest.mark.parametrize("step", [Step.CPP, Step.CUDA])
def test_lines_that_a_source_prints_do_not_shift_the_blame(output: str, step: Step) -> None:
    blamed = {Category.CPP_COMPILE_ERROR, Category.CUDA_COMPILE_ERROR, Category.MISSING_HEADER}
    assert categorise(request(), step, output, INSTALLED.__contains__) in blamed


@pytest.mark.parametrize("source", ["static_assert(false, TEXT);", '#pragma message TEXT\nstatic_assert(false, "no");'])
def test_a_real_compiler_prints_what_it_is_given_and_is_not_believed(source: str, tmp_path: Path) -> None:
    text = FORGED.replace("\n", "\\n")
    (tmp_path / "main.cpp").write_text(source.replace("TEXT", f'"hm{text}end"'))
    done = subprocess.run(["g++", "-std=c++17", "-c", "main.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert FORGED.strip() in done.stderr
    assert categorise(request(), Step.CPP, done.stderr, INSTALLED.__contains__) in (Category.CPP_COMPILE_ERROR, Category.MISSING_HEADER)


@pytest.mark.parametrize(
    "directive",
    ['#line 7 "/usr/include/x.h"', '  %: 7 "/usr/include/x.h"', '/**/#/**/line 7 "/x.h"', '#li\\\nne 7 "/x.h"', '#li\\ \t\nne 7 "/x.h"'],
)
def test_a_source_that_takes_anothers_name_is_still_the_requests(directive: str) -> None:
    missing = "/usr/include/x.h:7:10: fatal error: nowhere.h: No such file or directory\ncompilation terminated.\n"
    assert categorise(request(), Step.CPP, missing, INSTALLED.__contains__) is Category.NO_TOOLCHAIN
    renamed = request(BINDING + directive + "\n#include <nowhere.h>\n")
    assert categorise(renamed, Step.CPP, missing, INSTALLED.__contains__) is Category.MISSING_HEADER
    relative = missing.replace("/usr/include/", "")
    assert categorise(request(), Step.CPP, relative, INSTALLED.__contains__) is Category.MISSING_HEADER


@pytest.mark.parametrize(
    "line",
    [
        f"cuda.cu({'9' * 30}): error: forged",
        f"cuda.cu:{2**32}:1: error: forged",
        f"cuda.cu:1:{'9' * 30}: error: forged",
        f"ptxas cuda.ptx, line {'9' * 30}; error : forged",
        f"{'x' * 1500}.cu(3): error: forged",
        "cuda.cu(٣): error: forged",
    ],
)
def test_places_that_no_file_has_are_not_read(line: str) -> None:
    assert parse(line) == ()
    context = f"/usr/include/x.h(1): error: no\n          detected during instantiation at line {'9' * 30} of cuda.cu\n"
    assert [item.asked_line for item in parse(context)] == [None]


def test_what_the_assembler_says_is_read() -> None:
    (found,) = parse("cuda.cu: Assembler messages:\ncuda.cu:7: Error: no such instruction: `foo bar'\n")
    assert (found.file, found.line, found.severity, found.message) == ("cuda.cu", 7, "error", "no such instruction: `foo bar'")


def test_invented_header_of_an_installed_part_is_the_submissions_fault() -> None:
    invented = text("nvcc_missing_header").replace("my_helpers.cuh", "torch/fast_softmax.h")
    assert categorise(request(), Step.CUDA, invented, INSTALLED.__contains__) is Category.MISSING_HEADER


def test_failure_without_a_known_message_is_named_after_its_step() -> None:
    names = [categorise(request(), step, "something odd", INSTALLED.__contains__) for step in Step]
    assert names == [Category.CPP_COMPILE_ERROR, Category.CUDA_COMPILE_ERROR, Category.LINK_ERROR]


def test_the_submissions_own_fault_wins_over_the_machines() -> None:
    assert first_fault([Category.NO_TOOLCHAIN, Category.CONST_POINTER]) is Category.CONST_POINTER
    assert first_fault([Category.LINK_ERROR, Category.CONST_POINTER]) is Category.LINK_ERROR
    assert first_fault([Category.INFRASTRUCTURE_ERROR, Category.NO_TOOLCHAIN]) is Category.INFRASTRUCTURE_ERROR
