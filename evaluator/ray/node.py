"""What a machine of the cluster reports about itself before it judges."""

import hashlib
import platform
import socket
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evaluator.machine import devices
from evaluator.machine.devices import Device
from evaluator.results.result import EVALUATOR_VERSION

_CODE = ("evaluator/**/*.py", "evaluator/**/*.c", "evaluator/**/*.cu", "evaluator/**/*.h", "reference/*.py")


class SoftwareError(Exception):
    """A machine has a different evaluator or a different PyTorch."""


@dataclass(frozen=True)
class Software:
    """What two machines must have in common for equal verdicts."""

    evaluator: str
    code_sha256: str
    """Hash of the files that judge, and of the shipped problems."""
    torch: str | None
    """Version as installed, such as 2.13.0+cu130."""

    @staticmethod
    def here() -> "Software":
        """That of this process's machine; imports nothing for it."""
        return Software(EVALUATOR_VERSION, _code_sha256(Path(__file__).resolve().parents[2]), _torch())

    def differs_from(self, other: "Software", same_build: bool = True) -> str | None:
        """The difference, for people, or None. Without `same_build`, PyTorch may be another build of the same release."""
        if self.torch is None:
            return "it has no PyTorch"
        if self.evaluator != other.evaluator:
            return f"its evaluator is {self.evaluator}, not {other.evaluator}"
        if self.code_sha256 != other.code_sha256:
            return f"its evaluator has the same version, {self.evaluator}, but other files"
        if self.torch != other.torch and (same_build or _release(self.torch) != _release(other.torch or "")):
            return f"its PyTorch is {self.torch}, not {other.torch}"
        return None


@dataclass(frozen=True)
class Node:
    """One machine."""

    id: str
    """Ray's identifier, in hexadecimal."""
    address: str
    name: str
    software: Software
    processor: Device
    gpus: tuple[Device, ...]
    """GPUs that CUDA shows; none if Ray has no GPU of this machine to give."""
    cpus: float = 0.0
    """CPUs that Ray may give; likewise `gpu_count` and the memory."""
    gpu_count: int = 0
    memory_bytes: int = 0

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.name} ({self.address}, node {self.id[:12]})"


def look_around(node_id: str, address: str) -> Node:
    """Describe the machine that this process runs on."""
    return Node(node_id, address, platform.node() or socket.gethostname(), Software.here(), devices.cpu(), tuple(devices.gpus()))


def _release(torch: str) -> str:
    return torch.partition("+")[0]


def _torch() -> str | None:
    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def _code_sha256(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _CODE for path in root.glob(pattern)}):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()
