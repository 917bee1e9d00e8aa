"""This machine's compilers, headers and libraries for a stock PyTorch extension."""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import ninja

from evaluator.build.header_folders import digest

Capability = tuple[int, int]

DEFAULT_CAPABILITY: Capability = (9, 0)
"""Architecture for CUDA sources without a GPU: they are compiled only to see whether they compile."""
ARCH_SPECIFIC_SINCE: Capability = (9, 0)
"""Since this one, an architecture has features of its own (wgmma, TMA) that only the suffix `a` enables."""
DEFAULT_STANDARD = "c++17"
_VERSION_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Compiler:
    """A compiler that reported its version."""

    command: tuple[str, ...]
    """Program and leading arguments, such as ("ccache", "g++")."""
    version: str


@dataclass(frozen=True)
class TorchInstall:
    """What the installed PyTorch requires of an extension."""

    root: Path
    """Folder of the package `torch`."""
    version: str
    git_version: str
    cuda: str | None
    """CUDA version that it was built for; None for a CPU-only PyTorch."""
    standard: str
    """c++17 or c++20."""
    abi_flags: tuple[str, ...]

    @staticmethod
    def find() -> "TorchInstall":
        """Read from the installed package. torch.utils.cpp_extension is not imported, since that may initialise CUDA."""
        import torch

        root = Path(torch.__file__).resolve().parent
        stock = (root / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
        flags = [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
        if "_PYBIND11_" in stock:  # pybind11 before 3.0 separates extensions by these; PyTorch set its own values until it upgraded
            for part in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
                value = getattr(torch._C, f"_PYBIND11_{part}", None)
                if value is not None:
                    flags.append(f'-DPYBIND11_{part}="{value}"')
        return TorchInstall(
            root, torch.__version__, str(torch.version.git_version), torch.version.cuda, stock_standard(stock), tuple(flags)
        )


def stock_standard(cpp_extension_source: str) -> str:
    """The C++ standard that PyTorch compiles extensions with: the one that its cpp_extension.py passes most often."""
    found = Counter(re.findall(r"-std=(c\+\+\d\d)\b", cpp_extension_source))
    return found.most_common(1)[0][0] if found else DEFAULT_STANDARD


@dataclass(frozen=True)
class Toolchain:
    """Everything outside a request that affects the result of a build."""

    cxx: Compiler | None
    nvcc: Compiler | None
    host_compiler: str | None
    """Host compiler for nvcc ($CC, as in PyTorch); None lets nvcc choose."""
    cuda_home: Path | None
    torch: TorchInstall
    python_include: Path
    arch: tuple[str, ...]
    """Architectures in PyTorch's notation, such as ("9.0a",) or ("8.9+PTX",)."""
    headers: tuple[Path, ...] = ()
    """The user's folders that sources may include files from; absolute paths."""

    @staticmethod
    def find(capability: Capability | None, headers: tuple[Path, ...] = ()) -> "Toolchain":
        """Search this machine. `capability` is that of the GPU that will run the kernels; None without a GPU."""
        cuda_home = find_cuda_home()
        nvcc = _ask_compiler((str(cuda_home / "bin" / "nvcc"),)) if cuda_home else None
        return Toolchain(
            cxx=_ask_compiler(tuple(shlex.split(os.environ.get("CXX", "")))) or _ask_compiler(("c++",)) or _ask_compiler(("g++",)),
            nvcc=nvcc,
            host_compiler=os.environ.get("CC") or None,
            cuda_home=cuda_home,
            torch=TorchInstall.find(),
            python_include=Path(sysconfig.get_path("include", scheme="posix_prefix")),
            arch=choose_arch(capability or DEFAULT_CAPABILITY, _architectures(nvcc)),
            headers=headers,
        )

    @property
    def links_cuda(self) -> bool:
        """Whether a CUDA extension can be linked and loaded here: a CPU-only PyTorch lacks the libraries."""
        return self.torch.cuda is not None

    def include_dirs(self, cuda: bool) -> tuple[Path, ...]:
        """System include folders in PyTorch's order; never /usr/include, which gcc searches by itself."""
        include = self.torch.root / "include"
        dirs = [include, include / "torch" / "csrc" / "api" / "include"]
        if cuda and self.cuda_home is not None:
            dirs.append(self.cuda_home / "include")
            dirs += [home / "include" for home in _cudnn_home()]
        return tuple(path for path in (*dirs, self.python_include) if path != Path("/usr/include"))

    def library_dirs(self, cuda: bool) -> tuple[Path, ...]:
        dirs = [self.torch.root / "lib"]
        if cuda and self.cuda_home is not None:
            lib64 = self.cuda_home / "lib64"
            dirs.append(lib64 if lib64.exists() else self.cuda_home / "lib")
            dirs += [home / "lib64" for home in _cudnn_home()]
        return tuple(dirs)

    @property
    def build_identity(self) -> tuple[str, ...]:
        """Everything that two builds must share to be the same build, one string per fact. Header folders are read again each time, since
        their owner may change them. Raises HeaderFolderError and OSError if one can't be read."""
        return (*self.identity, *(f"headers {folder} {digest(folder)}" for folder in self.headers))

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """`build_identity` without header folders."""
        facts = [f"torch {self.torch.version} {self.torch.git_version} {self.torch.cuda} {self.torch.standard}", *self.torch.abi_flags]
        facts += [" ".join((*compiler.command, compiler.version)) if compiler else "none" for compiler in (self.cxx, self.nvcc)]
        facts += [f"host {self.host_compiler}", f"cuda {self.cuda_home}", f"arch {';'.join(self.arch)}"]
        facts += [f"include {path}" for path in self.include_dirs(cuda=True)]
        facts += [f"library {path}" for path in self.library_dirs(cuda=True)]
        return tuple(facts)

    @property
    def short_names(self) -> tuple[tuple[Path, str], ...]:
        """Folders of what is installed, each with a name that is the same on other machines. /usr, which holds much else, has none."""
        cuda = {self.cuda_home: "cuda", self.cuda_home.resolve(): "cuda"} if self.cuda_home else {}
        cudnn = dict.fromkeys(_cudnn_home(), "cudnn")
        named = {self.torch.root: "torch"} | cuda | cudnn | {self.python_include: "python/include"}
        return tuple((folder, name) for folder, name in named.items() if folder != Path("/usr"))

    @property
    def readonly_paths(self) -> tuple[str, ...]:
        """Paths that a confined compiler, and ninja, need besides /usr, which every sandbox shows."""
        paths = {self.torch.root, self.python_include, ninja_program(), *_cudnn_home(), *self.headers}
        if self.cuda_home is not None:
            paths |= {self.cuda_home, self.cuda_home.resolve()}
        for compiler in (self.cxx, self.nvcc):
            if compiler is not None:
                program = Path(compiler.command[0])
                paths |= {_prefix(program), _prefix(program.resolve())}
        return tuple(sorted(str(path) for path in paths if path.exists() and path.parts[:2] not in (("/", "usr"), ("/", "bin"), ("/",))))

    @property
    def search_path(self) -> str:
        """PATH for the compilers: their own folders, then the system's."""
        tools = [str(Path(compiler.command[0]).parent) for compiler in (self.nvcc, self.cxx) if compiler]
        return ":".join(dict.fromkeys([*tools, "/usr/local/bin", "/usr/bin", "/bin"]))


def ninja_program() -> Path:
    """The installed ninja package's program, which runs the compilers."""
    return Path(ninja.BIN_DIR) / "ninja"


def find_cuda_home() -> Path | None:
    """The CUDA toolkit: $CUDA_HOME, $CUDA_PATH, that of the nvcc on the PATH, or /usr/local/cuda, in this order.

    It must have both the compiler and the runtime's header: `nvcc` on the PATH is sometimes only a wrapper.
    """
    candidates = [Path(value) for name in ("CUDA_HOME", "CUDA_PATH") if (value := os.environ.get(name))]
    if nvcc := shutil.which("nvcc"):
        candidates += [Path(nvcc).parent.parent, Path(nvcc).resolve().parent.parent]
    candidates.append(Path("/usr/local/cuda"))
    whole = (home for home in candidates if (home / "bin" / "nvcc").exists() and (home / "include" / "cuda_runtime.h").exists())
    return next(whole, None)


def choose_arch(capability: Capability, known: frozenset[Capability]) -> tuple[str, ...]:
    """The architecture to compile for, given the GPU's and those that nvcc knows (empty: unknown, so any).

    A GPU newer than nvcc gets code for the newest architecture that nvcc knows, with PTX, which the driver compiles for the GPU.
    """
    older = [other for other in known if other <= capability]
    if older and capability not in known:
        major, minor = max(older)
        return (f"{major}.{minor}+PTX",)
    major, minor = capability
    return (f"{major}.{minor}{'a' if capability >= ARCH_SPECIFIC_SINCE else ''}",)


def _prefix(program: Path) -> Path:
    """The installation folder of a compiler, above its `bin`, but never a home folder or the root."""
    folder, home = program.parent, Path(os.path.expanduser("~"))  # noqa: PTH111 - pathlib's raises for a user without a home
    return folder.parent if folder.name == "bin" and folder.parent not in (Path("/"), home, home.resolve()) else folder


def _architectures(nvcc: Compiler | None) -> frozenset[Capability]:
    text = _output((*nvcc.command, "--list-gpu-arch")) if nvcc else None
    return frozenset((int(major), int(minor)) for major, minor in re.findall(r"^compute_(\d+)(\d)$", text or "", re.MULTILINE))


def _cudnn_home() -> tuple[Path, ...]:
    home = os.environ.get("CUDNN_HOME") or os.environ.get("CUDNN_PATH")
    return (Path(home),) if home else ()


def _ask_compiler(command: tuple[str, ...]) -> Compiler | None:
    program = shutil.which(command[0]) if command else None
    if program is None:
        return None
    resolved = (program, *command[1:])
    text = _output((*resolved, "--version"))
    if not text or not text.strip():
        return None
    release = re.search(r"V\d+\.\d+\.\d+", text)  # nvcc's first line is its name alone
    return Compiler(resolved, release.group() if release else text.splitlines()[0].strip())


def _output(command: tuple[str, ...]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_VERSION_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
