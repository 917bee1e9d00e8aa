"""The pairs of tokens that no program has: what is right holds none of them, and least of all PyTorch's own headers."""

import subprocess
from pathlib import Path

import pytest

from evaluator.build.commands import cpp_flags
from evaluator.build.fast.grammar import _arguments_of_extensions, _never, has_unmatched_bracket, stray_or_pair
from evaluator.build.fast.unit import Unit, _tokens, matching_brackets, read_unit
from evaluator.build.toolchain import Toolchain


def unit_of(text: str) -> Unit:
    unit = read_unit(f'# 1 "x.cpp"\n{text}', {"x.cpp"})
    assert unit is not None
    return unit


RIGHT = (
    "if (x) return; else if (y) return; else return;",
    "for (auto [a, b] : pairs) if constexpr (a) continue;",
    "do x = (y); while (x); switch (x) case 1: break;",
    "auto f(int) -> T override final; virtual void g() const noexcept override try {} catch (...) {}",
    "struct A final : B { explicit(true) A(int) noexcept(false); void f() = delete; int x : 3 = 1; };",
    'extern "C" int f(); auto s = "a" "b" u8"c"; auto t = \'a\'; auto n = 1\'000 + 0x1p-3 + 1e+5f + 3_km;',
    "delete [] p; new int[3]; new (place) T(x); throw T(x); return (T) f(x); x = (T) f(x); x < (T) y;",
    "T operator+(T a, T b); using B::operator=; friend T operator,(A, B); operator T*() const; a.operator[](3);",
    "kernel<<<(n + 1) / 2, 256, 0, stream>>>(x.data<float>(), n); std::vector<::at::Tensor> v; f<A, B>(x) * g;",
    "[[nodiscard]] int f([[maybe_unused]] int x); auto l = [=, &x](auto y) mutable { return y; }; a[l[0]] = 1;",
    "int x __attribute__((aligned(16))); __attribute__((launch_bounds(256))) void k(); alignas(16) float y[3];",
    'asm volatile("mov %0, %1;" : "=r"(x), [name] "+f"(y) : "n"(16), "r"(z) : "memory");',
    "template <Concept T> void f(T x, Concept auto y); A and B or not C; x bitand y; 1 or x; using T = decltype(x) const;",
    "goto out; out: return; case 1 ... 5: x; label: (x); unsigned long long int x; T static y; T const * const z;",
    "template <class... T> auto f(T... x) { return (x + ...) + (... + x) + (0 + ... + x) + sizeof...(x); }",
    "struct S { int a : 3 __attribute__((packed)); }; struct $1 {}; $1 x; struct \u03941 {}; \u03941 y;",
    "enum { A = 1, B, }; int x[] = {1, 2, }; f({1, }); x = y ? z : w; a ? b : c; x = *y; x = -y; x = *p * *q;",
)
WRONG = (
    ("int x = y\nreturn x;", "impossible pair"),
    ("x = f(y)\nz = 3;", "impossible pair"),
    ("x[i] = a[i]\ny = 3;", "impossible pair"),
    ("float x = 3\nfloat y;", "impossible pair"),
    ("x = y * (z + 1)\nreturn x;", "impossible pair"),
    ("x = y * z\nout[3] = x;", "impossible pair"),
    ("x = 3 y;", "impossible pair"),
    ('f("a" name);', None),
    ("x = y +;", "impossible pair"),
    ("f(x,);", "impossible pair"),
    ("T(x) y;", "impossible pair"),
    ("x = y; # twice", "stray character"),
    ("```cpp", "stray character"),
    ('f("open);', "stray character"),
    ("__attribute__((x y z)) int a;", None),
    ("[[vendor::any(parallel for 3 x)]] int a;", None),
    ('auto x = R"(int y = 3 return)";', None),
    ("template <class T> requires C int f();", None),
)


@pytest.mark.parametrize("text", RIGHT)
def test_right_text_holds_no_impossible_pair(text: str) -> None:
    assert stray_or_pair(unit_of(text), "x.cpp", 1) is None
    assert not has_unmatched_bracket(unit_of(text))


@pytest.mark.parametrize(("text", "found"), WRONG)
def test_wrong_text_is_known_where_it_is_certain(text: str, found: str | None) -> None:
    last = text.count("\n") + 1
    assert stray_or_pair(unit_of(text), "x.cpp", last) == found
    assert stray_or_pair(unit_of(text), "x.cpp", last + 1) is None
    assert stray_or_pair(unit_of(text), "own.h", last) is None


@pytest.mark.parametrize("text", ["{", "}", "(]", "f(x;", "a[3;", "{(})", ")("])
def test_unmatched_brackets_are_found(text: str) -> None:
    assert has_unmatched_bracket(unit_of(text))


@pytest.mark.parametrize(
    ("text", "first"), [("int a() {}\nint b() {\n", 2), ("int a() {}\nint b()\nreturn;\n}", 2), ("int a;\nf(x];\n", 2), ("f(x;\n}", 1)]
)
def test_what_is_said_in_front_of_them_is_about_something_else(text: str, first: int) -> None:
    unit = unit_of(text)
    assert [has_unmatched_bracket(unit, "x.cpp", line) for line in (first - 1, first)] == [False, True]
    assert not has_unmatched_bracket(unit, "own.h", first)


@pytest.mark.parametrize("text", ['"{"', "'{'", "<% %>", "<% {", "<: (", 'R"(" {', "#pragma omp x(\n"])
def test_what_only_looks_like_an_unmatched_bracket_is_none(text: str) -> None:
    assert not has_unmatched_bracket(unit_of(text))


HEADER = '\n# 1 "/a.h"\n%s\n# 2 "x.cpp"\n'


@pytest.mark.parametrize("text", ["int x[] = { 1\n%s\ny };", "int x = y\n%s\nreturn;", "int x = 1\n%s\ny;"])
def test_tokens_on_both_sides_of_a_header_are_no_pair(text: str) -> None:
    assert stray_or_pair(unit_of(text % "\n"), "x.cpp", 2) == "impossible pair"
    assert stray_or_pair(unit_of(text % HEADER % ", 2,"), "x.cpp", 2) is None


def test_brackets_that_a_header_may_match_are_not_unmatched() -> None:
    assert has_unmatched_bracket(unit_of("int x;" + HEADER % "int y;" + "} namespace b {"))
    assert not has_unmatched_bracket(unit_of(HEADER % "namespace a {" + "} namespace b {" + HEADER % "}"))
    assert not has_unmatched_bracket(unit_of("namespace b {" + HEADER % "int y;"))


FEW = ("pybind11/pybind11.h", "c10/util/Exception.h", "ATen/Parallel.h", "immintrin.h")
MANY = ("torch/extension.h", *FEW, "bits/stdc++.h")


@pytest.mark.build
@pytest.mark.parametrize(("names", "least"), [(FEW, 300_000), pytest.param(MANY, 2_000_000, marks=pytest.mark.nightly)])
def test_headers_hold_no_impossible_pair(names: tuple[str, ...], least: int, machine: Toolchain, tmp_path: Path) -> None:
    assert machine.cxx is not None
    (tmp_path / "x.cpp").write_text("".join(f"#include <{name}>\n" for name in names))
    argv = [*machine.cxx.command, *cpp_flags(machine, cuda=False), "-E", "-P", "x.cpp"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = tuple(_tokens(done.stdout, "x.cpp", 1))
    opening, unmatched = matching_brackets(found)
    inside = _arguments_of_extensions(found, opening)
    assert len(found) > least
    assert unmatched is None
    wrong = [place for place in range(1, len(found)) if place not in inside and _never(found, place, opening)]
    assert [" ".join(token.text for token in found[place - 5 : place + 2]) for place in wrong] == []
