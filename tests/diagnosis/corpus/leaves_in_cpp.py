# fault: its extension calls exit()
# problem: softmax
# expect: cpu run_failed/early_exit
# says: exit code 4
# base: run_in_cpp
CPP = r"""
#include <cstdlib>
torch::Tensor run(torch::Tensor x) {
    if (x.dim() == 2) std::_Exit(4);
    return x;
}
"""
