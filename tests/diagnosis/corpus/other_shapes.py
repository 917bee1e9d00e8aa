# problem: mish
# expect: cpu incorrect/shape_specific


# %% answer_of_one_size
# fault: the answer is allocated in the size of one case
# problem: leaky_relu
# says: wrong_shape
# base: run_in_cpp
CPP = """
#include <algorithm>

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({33, 1019}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < std::min(x.numel(), y.numel()); ++i) {
        to[i] = from[i] > 0 ? from[i] : 0.01f * from[i];
    }
    return y;
}
"""


# %% columns_written_out
# fault: the length of a row is a constant, and only that of the shapes that it is judged on
# problem: cumsum
# says: wrong in the shapes 'odd'
# base: run_in_cpp
CPP = """
torch::Tensor run(torch::Tensor x) {
    constexpr int64_t columns = 1021;
    auto sums = torch::empty_like(x);
    const float* from = x.const_data_ptr<float>();
    float* to = sums.mutable_data_ptr<float>();
    double sum = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
        sum = i % columns == 0 ? from[i] : sum + from[i];
        to[i] = static_cast<float>(sum);
    }
    return sums;
}
"""


# %% refuses_another_batch
# fault: a check lets one number of rows through
# says: made for 31 rows
# base: run_in_cpp
CPP = """
#include <cmath>

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.size(0) == 31, "made for 31 rows, and there are ", x.size(0));
    auto y = torch::empty_like(x);
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const double value = from[i];
        to[i] = static_cast<float>(value * std::tanh(std::log1p(std::exp(value))));
    }
    return y;
}
"""


# %% stride_written_out
# fault: rows begin where those of one case do
# expect: cuda incorrect/shape_specific
# says: wrong in the shapes 'odd'
# base: run_in_cuda
CUDA = """
__global__ void mish_rows(const float* x, float* y, int columns) {
    const size_t row = static_cast<size_t>(blockIdx.x) * 1021;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        const float value = x[row + column];
        y[row + column] = value * tanhf(log1pf(expf(value)));
    }
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    mish_rows<<<x.size(0), 256>>>(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
    return y;
}
"""
