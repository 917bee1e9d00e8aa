# wants: the rank of a kernel of its own for CUB's, by calling its device-wide sort from an extension
# problem: sort_rows
# expect: cuda correct/no_custom_kernel
# speedup: 4
# base: extension
CPP = "std::tuple<torch::Tensor, torch::Tensor> sort_rows(torch::Tensor x, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cub/device/device_segmented_sort.cuh>

std::tuple<torch::Tensor, torch::Tensor> sort_rows(torch::Tensor x, int64_t stream) {
    const int64_t rows = x.size(0), columns = x.size(1);
    const auto places = torch::arange(columns, x.options().dtype(torch::kInt64)).expand({rows, columns}).contiguous();
    const auto edges = torch::arange(rows + 1, x.options().dtype(torch::kInt64)) * columns;
    auto values = torch::empty_like(x);
    auto indices = torch::empty_like(places);
    torch::Tensor scratch;
    size_t bytes = 0;
    for (int asked = 0; asked < 2; ++asked) {
        if (asked) scratch = torch::empty({static_cast<int64_t>(bytes)}, x.options().dtype(torch::kUInt8));
        cub::DeviceSegmentedSort::SortPairs(
            asked ? scratch.data_ptr() : nullptr, bytes, x.data_ptr<float>(), values.data_ptr<float>(), places.data_ptr<int64_t>(),
            indices.data_ptr<int64_t>(), rows * columns, rows, edges.data_ptr<int64_t>(), edges.data_ptr<int64_t>() + 1,
            reinterpret_cast<cudaStream_t>(stream));
    }
    return {values, indices};
}
"""


extension = load_inline(name="assay_attack_cub", cpp_sources=CPP, cuda_sources=CUDA, functions=["sort_rows"])


def forward(self, x):
    return extension.sort_rows(x, torch.cuda.current_stream().cuda_stream)
