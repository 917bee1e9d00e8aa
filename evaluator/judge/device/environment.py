"""Describes the machine and software of an evaluation."""

import platform

import torch

from evaluator.build.toolchain import Toolchain
from evaluator.machine.devices import Device, cpu_count, cpu_name
from evaluator.results.result import Environment


def describe_environment(device: Device, toolchain: Toolchain, threads: int = 1) -> Environment:
    """Everything about this machine that is needed to repeat the evaluation. threads: PyTorch's threads in a worker."""
    on_gpu = device.kind == "cuda"
    return Environment(
        device_kind=device.kind,
        device_name=device.name,
        gpu_driver=gpu_driver() if on_gpu else None,
        cuda=torch.version.cuda,
        compute_capability=".".join(map(str, device.capability)) if device.capability else None,
        torch=torch.__version__,
        python=platform.python_version(),
        nvcc=toolchain.nvcc.version if toolchain.nvcc else None,
        cxx=toolchain.cxx.version if toolchain.cxx else None,
        cpu=cpu_name(),
        cpu_count=cpu_count(),
        platform=platform.platform(),
        settings={
            "matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
            "cudnn_tf32": torch.backends.cudnn.allow_tf32,
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
            "threads": threads,
            "arch": list(toolchain.arch),
        },
    )


def gpu_driver() -> str | None:
    """The NVIDIA driver's version, and its CUDA version."""
    from cuda.bindings import driver

    error, version = driver.cuDriverGetVersion()
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}" if int(error) == 0 else "unknown"
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:  # noqa: PTH123
            return f"{file.readline().split('  ')[1]} ({cuda})"
    except (OSError, IndexError):
        return cuda


def apply_settings() -> None:
    """Apply the settings that judge and workers share: no TF32, so that float32 means float32. cuDNN chooses algorithms by heuristics and
    not by benchmarks, so that the choice is the same for candidate and baselines."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = False
