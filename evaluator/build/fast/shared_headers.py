"""Files made once for a toolchain and shared by all builds: cut-down headers, the list of names they omit, and precompiled headers.

They lie in the cache folder, readable by confined compilers, which may be other users. No build waits long for them: while one process
makes them, others build without.
"""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.cache import Cache
from evaluator.build.commands import cpp_flags, header_flags
from evaluator.build.fast import lean_headers, number_types, omitted_names
from evaluator.build.fast.lean_headers import BINDING_HEADER, PARTS, HeaderCutter, UnknownHeadersError
from evaluator.build.fast.omitted_names import OmittedNames, compare, read_files, read_preprocessed, relative_to
from evaluator.build.processes.runner import CommandResult
from evaluator.build.toolchain import Toolchain

RunIn = Callable[[tuple[str, ...], Path], CommandResult]
"""Runs a command in a folder. Raises OSError where it can't."""
Scratch = Callable[[], contextlib.AbstractContextManager[Path]]
"""A fresh folder that compilers can write in."""
STANDING_FLAGS = re.compile(r"-O[0-3sg]?|-Ofast|-std=c\+\+\d\d|-fopenmp|-march=native|-ffast-math|-funroll-loops")
"""Flags that must be the same for a precompiled header and its user."""
PASSING_FLAGS = re.compile(r"-W(?!p,|a,|l,)[\w=+-]*|-w|-I.+")
"""Flags that may differ."""
MAX_STANDING_FLAGS = 4
HEADERS_WAIT_S = 30.0
"""How long to wait for another process that makes the headers: making them takes less, and a build without them takes longer. No build
waits for a precompiled header, since making one takes longer than a build without it."""
WORTH_MAKING_AFTER = 4
"""Builds with the same flags before a precompiled header is made for them: making it costs as much as four builds save."""
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_CHECKSUM = "checksum"
_OMITTED = "omitted_names.json"
_USED = "assay/aten.h"
"""A file whose time is the headers' last use."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeanHeaders:
    """Cut-down headers of one toolchain."""

    base: Path
    """Folder to search before PyTorch's own."""
    omitted: OmittedNames
    cutter: HeaderCutter


class SharedHeaders:
    """Makes the files on demand, below `cache.root`/headers. Safe to use from several threads and processes."""

    def __init__(self, cache: Cache, toolchain: Toolchain, scratch: Scratch) -> None:
        self._cache, self._toolchain, self._scratch = cache, toolchain, scratch
        self._cutter = HeaderCutter(toolchain.torch.root / "include")
        sources = [Path(str(module.__file__)).read_bytes() for module in (lean_headers, number_types, omitted_names)]
        facts = (*(fact.encode() for fact in toolchain.identity), *sources)
        self._key = hashlib.sha256(b"".join(len(fact).to_bytes(8, "big") + fact for fact in facts)).hexdigest()
        self._folder = cache.headers / self._key
        self._prepared: LeanHeaders | None = None
        self._preparing = threading.Lock()
        self._given_up: set[str] = set()
        self._verified: dict[Path, tuple[int, int]] = {}

    @property
    def possible(self) -> bool:
        """Whether there is a GNU C++ compiler, which reads the headers."""
        cxx = self._toolchain.cxx
        return cxx is not None and len(cxx.command) == 1 and "clang" not in cxx.version

    def headers(self, run: RunIn) -> LeanHeaders | None:
        """The cut-down headers, made if necessary. None if another process is making them, or they can't be made."""
        with self._preparing:
            if self._prepared is None and self.possible:
                self._prepared = self._load()
            if self._prepared is None and self.possible and self._once("headers", lambda: self._make(run), HEADERS_WAIT_S):
                self._prepared = self._load()
            return self._prepared

    def binding(self, cuda: bool, flags: tuple[str, ...], run: RunIn, *, at_once: bool = False) -> Path | None:
        """A header with its precompiled form for these flags beside it. None as above, and for other flags.

        For binding files of CUDA extensions it is made after WORTH_MAKING_AFTER requests, or `at_once`. For C++ extensions, which only g++
        compiles, the first request makes it.
        """
        standing = tuple(flag for flag in flags if not PASSING_FLAGS.fullmatch(flag))
        prepared = self.headers(run)
        if prepared is None or len(standing) > MAX_STANDING_FLAGS or not all(map(STANDING_FLAGS.fullmatch, standing)):
            return None
        variant = hashlib.sha256("\0".join((str(cuda), *standing)).encode()).hexdigest()[:16]
        folder = self._folder / variant
        if not self._is_whole(folder):
            if cuda and not at_once and self._times_asked(variant) <= WORTH_MAKING_AFTER:
                return None
            made = self._once(variant, lambda: self._precompile(prepared, cuda, standing, folder, run), 0.0)
            if not made or not self._is_whole(folder):
                return None
        header = folder / Path(BINDING_HEADER).name
        with contextlib.suppress(FileNotFoundError):
            os.utime(_precompiled(header))
        return header

    def _times_asked(self, variant: str) -> int:
        """How often any process has asked for this, including now: each request adds a byte to a file."""
        try:
            with (self._folder / f"{variant}.asked").open("ab") as file:
                file.write(b".")
                return file.tell()
        except OSError:
            return 0

    def doubt(self) -> None:
        """Check everything again before its next use: a compile with it failed that succeeded without."""
        self._verified.clear()
        self._prepared = None

    def _once(self, name: str, make: Callable[[], None], wait_s: float) -> bool:
        """Whether `make` succeeded here, while no other process ran it. After a failure, this process does not try again."""
        if name in self._given_up:
            return False
        try:
            with self._cache.lock(hashlib.sha256(f"{self._key} {name}".encode()).hexdigest(), wait_s):
                make()
        except TimeoutError:
            return False
        except (OSError, ValueError, UnknownHeadersError):
            self._given_up.add(name)
            log.warning("%s could not be prepared; builds continue without them", name, exc_info=True)
            return False
        return True

    def _load(self) -> LeanHeaders | None:
        base = self._folder / "base"
        try:
            found = OmittedNames.model_validate_json((self._folder / _OMITTED).read_bytes())
            if (self._folder / _CHECKSUM).read_text() != _checksum(
                {str(path.relative_to(base)): path.read_bytes() for path in _files(base)}
            ):
                raise ValueError("checksum")
            os.utime(base / _USED)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            log.warning("headers in %s are damaged", self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)
            return None
        return LeanHeaders(base, found, self._cutter)

    def _make(self, run: RunIn) -> None:
        """Raises OSError, UnknownHeadersError, and ValueError if a compiler rejects the headers."""
        if self._load() is not None:
            return
        files = self._cutter.base()
        with self._scratch() as folder:
            _write(folder / "base", files)
            found = self._look_through(folder, run)
        self._cache.headers.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._cache.headers) as made:
            made_path = Path(made)
            _write(made_path / "base", files)
            (made_path / _OMITTED).write_text(found.model_dump_json())
            (made_path / _CHECKSUM).write_text(_checksum({name: text.encode() for name, text in files.items()}))
            (made_path / "base").chmod(0o755)
            target = self._folder
            target.mkdir(mode=0o755, exist_ok=True)
            for name in ("base", _CHECKSUM, _OMITTED):
                (made_path / name).rename(target / name)

    def _look_through(self, folder: Path, run: RunIn) -> OmittedNames:
        cuda = self._toolchain.nvcc is not None
        before = ["#include <assay/torch.h>\n"]
        texts = {"stock": "#include <torch/extension.h>\n", "base": before[0]}
        texts |= {str(number): f"{before[0]}#include <{part.header}>\n" for number, part in enumerate(PARTS)}

        def preprocess(name: str) -> str:
            (folder / f"{name}.cpp").write_text(texts[name])
            own = ["-dD"] if name == "stock" else ["-isystem", "base"]
            self._compile(run, folder, [*own, *cpp_flags(self._toolchain, cuda), "-E", f"{name}.cpp", "-o", f"{name}.ii"])
            include = self._toolchain.torch.root / "include"
            folders = ("base", str(include / "torch" / "csrc" / "api" / "include"), str(include))
            return relative_to(folders, (folder / f"{name}.ii").read_text(encoding="utf-8", errors="replace"))

        with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
            stock, base, *parts = pool.map(preprocess, texts)
        with_part = {number: read_files(text) for number, text in enumerate(parts)}
        found = compare(read_preprocessed(stock), read_files(base), with_part)
        return found.model_copy(update={"number_macros": self._number_macros(folder, run)})

    def _number_macros(self, folder: Path, run: RunIn) -> frozenset[str] | None:
        """Macros that nvcc's passes see only through the conversions of PyTorch's number types; None if nvcc can't say."""
        nvcc = self._toolchain.nvcc
        if nvcc is None:
            return None
        _write(folder / "plain", self._cutter.plain_numbers)
        (folder / "device.cu").write_text("#include <assay/torch.h>\n")
        flags = [f"-std={self._toolchain.torch.standard}", "-isystem", "base", *header_flags(self._toolchain, cuda=True)]

        def macros(output: str, *own: str) -> frozenset[str]:
            self._succeed(run, folder, (*nvcc.command, *own, *flags, "-E", "-Xcompiler", "-dM", "device.cu", "-o", output))
            return frozenset(_MACRO.findall((folder / output).read_text(encoding="utf-8", errors="replace")))

        try:
            return macros("all.ii") - macros("plain.ii", "-isystem", "plain")
        except ValueError:
            log.warning("nvcc does not read the cut-down headers: number types keep their conversions", exc_info=True)
            return None

    def _precompile(self, prepared: LeanHeaders, cuda: bool, flags: tuple[str, ...], target: Path, run: RunIn) -> None:
        if self._is_whole(target):
            return
        with self._scratch() as folder:
            header = folder / Path(BINDING_HEADER).name
            header.write_text(f"#include <{BINDING_HEADER}>\n")
            common = ["-isystem", str(prepared.base), *cpp_flags(self._toolchain, cuda), *flags]
            self._compile(run, folder, [*common, "-x", "c++-header", header.name, "-o", _precompiled(header).name])
            (folder / "probe.cpp").write_text("int probe;\n")
            strict = ["-Winvalid-pch", "-Werror=invalid-pch", "-DTORCH_EXTENSION_NAME=probe"]
            self._compile(run, folder, ["-include", header.name, *common, *strict, "-fsyntax-only", "probe.cpp"])
            shutil.rmtree(target, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=self._folder) as made:
                made_path = Path(made) / "whole"
                made_path.mkdir(mode=0o755)
                for path in (header, _precompiled(header)):
                    shutil.copyfile(path, made_path / path.name)
                    (made_path / path.name).chmod(0o644)
                (made_path / _CHECKSUM).write_text(_checksum_of(_precompiled(made_path / header.name)))
                made_path.chmod(0o755)
                made_path.rename(target)

    def _compile(self, run: RunIn, folder: Path, arguments: list[str]) -> None:
        """Raises ValueError with the compiler's output if it fails."""
        cxx = self._toolchain.cxx
        assert cxx is not None
        self._succeed(run, folder, (*cxx.command, *arguments))

    def _succeed(self, run: RunIn, folder: Path, argv: tuple[str, ...]) -> None:
        """Raises ValueError with the command's output if it fails."""
        result = run(argv, folder)
        if result.code != 0:
            raise ValueError(f"{' '.join(argv)}: {result.output[:2000]}")

    def _is_whole(self, folder: Path) -> bool:
        """Whether the precompiled header in `folder` is undamaged; checked once per process, unless it changes."""
        path = _precompiled(folder / Path(BINDING_HEADER).name)
        try:
            status = path.stat()
            state = (status.st_ino, status.st_size)
            if self._verified.get(path) != state:
                if (folder / _CHECKSUM).read_text() != _checksum_of(path):
                    log.warning("%s is damaged", path)
                    return False
                self._verified[path] = state
        except FileNotFoundError:
            return False
        return True


def _precompiled(header: Path) -> Path:
    return header.with_name(f"{header.name}.gch")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _checksum(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return digest.hexdigest()


def _checksum_of(path: Path) -> str:
    """Detects accidents, not attacks: the folder belongs to the builder, and these files are large."""
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            total = zlib.crc32(chunk, total)
    return f"{total:08x} {path.stat().st_size}"
