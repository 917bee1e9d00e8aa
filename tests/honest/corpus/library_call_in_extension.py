# form: C++ that has torch's matrix product (cuBLAS on a GPU) do the work, and fills its answer through an out variant
# problem: matmul
# expect: cpu correct/ok
# expect: cuda correct/no_custom_kernel | correct/ok
# base: extension
CPP = r"""
#include <torch/types.h>
#include <map>
#include <utility>

// Kept between calls, one for each shape; every call overwrites it.
static std::map<std::pair<int64_t, int64_t>, at::Tensor> answers;

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
    at::Tensor& answer = answers[{a.size(0), b.size(1)}];
    if (!answer.defined()) answer = at::empty({a.size(0), b.size(1)}, a.options());
    at::mm_out(answer, a, b);
    return answer;
}
"""


extension = load_inline(name="honest_product", cpp_sources=CPP, functions=["product"])


def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return extension.product(a, b)
