# fault: an extension uses the input as its scratch memory
# problem: sum_reduction
# expect: cpu incorrect/mutated_input
# says: Write to a new tensor
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto exact = x.sum(1, true);
    float* scratch = x.data_ptr<float>();
    const int64_t width = x.size(2);
    for (int64_t i = width; i < x.size(1) * width; ++i) scratch[i % width] += scratch[i];
    return exact;
}
"""


def __init__(self, dim):
    super().__init__()
