# fault: a library is linked that does not exist
# problem: matmul
# expect: cpu build_failed/link_error
# says: cannot find -lfastgemm
# base: extension
ops = load_inline(
    name="with_library",
    cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b) { return a.matmul(b); }",
    functions=["product"],
    extra_ldflags=["-lfastgemm"],
)


def forward(self, a, b):
    return ops.product(a, b)
