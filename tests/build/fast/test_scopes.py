"""Finding sources that declare something in a scope of the headers."""

import pytest

from evaluator.build.fast.scopes import enters_scope
from evaluator.build.fast.unit import read_unit

HEADER_WORDS = {"at", "std", "Foo", "__attribute__"}
ENTERS = (
    "namespace at { int x; }",
    "namespace [[deprecated]] at { int x; }",
    "namespace __attribute__((deprecated)) at { int x; }",
    "inline namespace at { int x; }",
    "namespace A = at; template <> struct A::TypeOf<int> {};",
    "template <> struct std::hash<Own> { int f(); };",
    "template <class T> struct at::TypeOf<T*> {};",
    "struct alignas(16) at::Foo { int x; };",
    "class [[nodiscard]] ::at::Foo final : Own {};",
    "int at::Foo::f() { return 0; }",
    "at::Foo::Foo(int x) : y(x) {}",
    "at::Foo<int>::~Foo() {}",
    "auto at::Foo::f() const -> int {}",
    "auto at::f() -> int {}",
    "at::Foo& at::Foo::operator=(int) { return *this; }",
    "template <> int at::TypeOf<int>::value = 3;",
    "int ::at::f() { return 0; }",
    "struct " + "Own " * 300 + "{};",
    "int " + "own::" * 300 + "f() {}",
)
OWN = (
    "namespace mine { at::Tensor f(at::Tensor x) { return at::relu(x); } }",
    "namespace { int x; } namespace mine::inner { int y; } using namespace at;",
    "struct Own : at::Foo { void f(); }; void Own::f() { at::relu(x); }",
    "template <class T = at::Foo> struct Own {}; template <class T> void Own<T>::f() const {}",
    "auto n = at::current()->count; if (at::f(x)) { y(); } for (auto z : at::all(x)) {}",
    "enum class Kind : std::uint8_t { A }; std::vector<at::Tensor> v{at::f(x)};",
    "template <> int run<float>(int x) { return at::f(x); }",
    "x = y > own::f(z) ? std::max(a, b) : c;",
)


def enters(text: str) -> bool:
    unit = read_unit(f'# 1 "x.cpp"\n{text}', {"x.cpp"})
    assert unit is not None
    return enters_scope(unit.own, HEADER_WORDS)


@pytest.mark.parametrize("text", ENTERS)
def test_a_scope_of_the_headers_is_entered(text: str) -> None:
    assert enters(text)


@pytest.mark.parametrize("text", OWN)
def test_a_scope_of_its_own_is_not(text: str) -> None:
    assert not enters(text)
