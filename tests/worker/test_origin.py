"""Which machine code is a submission's own."""

import sys

import pytest

from evaluator.worker.origin import installed_folders, is_own, is_own_kernel, is_vendors, kernel_names


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/proc/self/fd/7", True),
        ("/memfd:softmax (deleted)", True),
        ("/tmp/assay-1/softmax.so", True),
        ("/dev/shm/softmax.so", True),
        ("/tmp/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so", False),
        ("/usr/lib/libc.so.6", False),
        ("tmp/x.so", False),
        ("/venv/tmp/x.so", False),
        ("", False),
    ],
)
def test_what_is_installed_below_a_private_folder_is_nobodys_own(path: str, own: bool) -> None:
    assert is_own(path, ("/tmp/venv/",)) is own


def test_folders_of_the_search_path_count_and_the_private_ones_themselves_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/tmp/a-venv")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "path", ["", "/tmp", "/tmp/site", "/dev/shm", "/opt/site"])
    assert installed_folders() == ("/tmp/a-venv/", "/tmp/site/")


CUTE = "/opt/site/nvidia_cutlass_dsl/cu13/lib/libcute_dsl_runtime.so"
OTHERS, LAUNCHER = "/opt/site/cupy_backends/cuda/api/driver.so", "/tmp/triton/abc/cuda_utils.so"
SOURCE = "import tilelang\nimport cutlass.cute as cute\ndef bend(x): ...\ndef triton_mine(): ...\n"
SOURCE += "# triton_poi_fused_add_0 triton_ cupy_add__float32 _bmm_outer_product_kernel\n"


@pytest.mark.parametrize(
    ("name", "path", "own"),
    [
        ("bend", OTHERS, True),
        ("bend", LAUNCHER, True),
        ("void own::bend<float, 4>(float const*, (anonymous namespace)::tag)", OTHERS, True),
        ("(anonymous namespace)::bend(float*)", OTHERS, True),
        ("submission::bend[abi:v1][abi:cw51](Array<float, 1, C, mutable, aligned>)", OTHERS, True),
        ("bend", "/opt/torch/lib/libtorch_cuda.so", False),
        ("bend", "/opt/nvidia/cu13/lib/libcublasLt.so.13", False),
        ("bender", OTHERS, False),
        ("unbend", OTHERS, False),
        ("?", OTHERS, False),
        ("", OTHERS, False),
        ("bend_kernel", OTHERS, True),
        ("bend_kernel_1", OTHERS, True),
        ("bent_kernel", OTHERS, False),
        ("bend_kernel", "/opt/torch/lib/libtorch_cuda.so", False),
        ("written_at_run_time", LAUNCHER, True),
        ("triton_mine", LAUNCHER, True),
        ("triton_mm_3", LAUNCHER, False),
        ("triton_", LAUNCHER, False),
        ("triton_poi_fused_add_0", LAUNCHER, False),
        ("cupy_add__float32", OTHERS, False),
        ("_bmm_outer_product_kernel", LAUNCHER, False),
        ("kernel_cutlass_bend_tensorptrf32generico1_0", CUTE, True),
        ("kernel_cutlass_bent_tensorptrf32generico1_0", CUTE, False),
        ("kernel_cutlass_bend_0", "/opt/nvidia/cu13/lib/libcublasLt.so.13", False),
    ],
)
def test_kernels_that_the_driver_launches_are_told_by_their_names(name: str, path: str, own: bool) -> None:
    assert is_own_kernel(name, path, SOURCE, (), by_driver=True) is own


def test_kernels_of_the_runtimes_are_told_by_who_launches_them() -> None:
    assert not is_own_kernel("bend", "/opt/torch/lib/libtorch_cuda.so", SOURCE, (), by_driver=False)
    assert is_own_kernel("at::native::add", "/proc/self/fd/9", SOURCE, (), by_driver=False)


def test_a_dsls_forms_of_names_count_where_the_submission_imports_it() -> None:
    assert not is_own_kernel("bend_kernel", OTHERS, "def bend(x): ...", (), by_driver=True)
    assert kernel_names("import torch, tilelang\n")[-2:] == ("{name}_kernel", "{name}_kernel_*")
    assert kernel_names("import cutlass.cute as cute\n")[-1] == "kernel_cutlass_{name}_*"
    assert "{name}_kernel" not in kernel_names("import torch  # tilelang\n")


def test_without_a_source_the_launching_object_decides() -> None:
    assert is_own_kernel("triton_softmax", LAUNCHER, "", (), by_driver=True)
    assert not is_own_kernel("bend", OTHERS, "", (), by_driver=True)
    assert not is_own_kernel("bend", LAUNCHER, "", ("/tmp/triton/",), by_driver=True)


CUB = "void cub::CUB_300001_SM_900::detail::"
VENDORS = {
    f"{CUB}reduce::DeviceReduceKernel<cub::CUB_300001_SM_900::detail::reduce::policy_hub<float, int>::Policy1000, float*>(float*)": True,
    f"{CUB}transform::transform_kernel<cub::policy, int, Gelu, float*, float*>(int)": True,
    "void thrust::THRUST_200802_SM_900_NS::cuda_cub::core::_kernel_agent<cuda_cub::Agent<Mine>, float*>(float*)": True,
    "void mine::cub::DeviceRadixSortOnesweepKernel<float>(float*)": True,
    "void (anonymous namespace)::thrust::fill<float>(float*)": True,
    "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::Mma<float>>>(Params)": True,
    "void cutlass::Kernel2<cutlass::gemm::kernel::DefaultGemm<Mine>::Kernel>(Params)": True,
    "void cutlass::device_kernel<mine::cutlass::Gemm<int>>(mine::Params)": True,
    "void cutlass::reduction::kernel::reduce<Mine>(Mine)": True,
    "void cutlass::device_kernel<flash::Forward<cutlass::half_t, cute::tuple<int>>>(flash::Forward<int>::Params)": False,
    "void cutlass::Kernel<(anonymous namespace)::Mine>(cutlass::Params)": False,
    "void mine::device_kernel<cutlass::gemm::kernel::Gemm<float>>(Params)": False,
    "void sort_rows<cub::BlockRadixSort<float, 128, 4>>(float*, cub::Tag)": False,
    "scan(cub::Tag)": False,
    "cub(float*)": False,
    "void mycub::sort<float>(float*)": False,
    "cutlass_like::gemm(float*)": False,
    "void at::native::vectorized_elementwise_kernel<4, Mine>(int)": False,
    "?": False,
    "": False,
}
"""Whether a kernel's work is a vendor's, by its name."""


@pytest.mark.parametrize("name", VENDORS)
def test_kernels_of_libraries_of_headers_are_told_by_where_their_function_stands(name: str) -> None:
    assert is_vendors(name) is VENDORS[name]
