"""What a worker asks the builder for: source texts and flags, nothing else.

Every value comes from an untrusted process, so the model accepts only what the builder can use safely: file names without folders, bounded
sizes, no bytes that a command line or a file name can't hold. The flags themselves may say anything that a compiler understands: the
compilers run confined, and what they make is cached under a hash of the whole request.
"""

import hashlib
import re
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, field_validator, model_validator

from evaluator.build.toolchain import Toolchain
from evaluator.results.result import EVALUATOR_VERSION

MAX_FILES = 64
MAX_TOTAL_BYTES = 4 << 20
MAX_FLAGS = 256
MAX_FLAG_CHARS = 4096
SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".cu")
HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
"""Starts with neither dot nor dash: no hidden file, no parent folder, nothing that a compiler takes for an option."""
COMMON_PREFIX = "assay_build_"
"""Begins the names of `under_common_name`; a worker tells by it that the module is to get another."""
_OWN_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*TORCH_EXTENSION_NAME\s*,")
_NAMING = re.compile(r"TORCH_EXTENSION_NAME|PYBIND11_(?:EMBEDDED_)?MODULE|PyInit")
EXTENSION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class _Untrusted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class SourceFile(_Untrusted):
    """One file of a request."""

    name: StrictStr
    """File name without a folder."""
    text: StrictStr

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not FILE_NAME.fullmatch(name):
            raise ValueError("a file name is at most 128 letters, digits and _.+- and starts with neither dot nor dash")
        return name

    @field_validator("text")
    @classmethod
    def _encodable(cls, text: str) -> str:
        if "\0" in text:
            raise ValueError("a source text holds a NUL")
        if len(text) > MAX_TOTAL_BYTES:
            raise ValueError(f"a source text has more than {MAX_TOTAL_BYTES} characters")
        text.encode()  # lone surrogates raise UnicodeEncodeError, which is a ValueError
        return text

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def is_cuda(self) -> bool:
        return self.suffix == ".cu"


def _words(value: Any) -> Any:
    """Flags as separate arguments: PyTorch hands them to a shell, so `"-O3 --use_fast_math"` is two; empty strings are none.

    Raises ValueError where a shell would find an open quote.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MAX_FLAGS:
        raise ValueError(f"flags are a list of at most {MAX_FLAGS} strings")
    words: list[str] = []
    for flag in value:
        if not isinstance(flag, str) or len(flag) > MAX_FLAG_CHARS or "\0" in flag:
            raise ValueError(f"a flag is a string of at most {MAX_FLAG_CHARS} characters without NUL")
        flag.encode()  # lone surrogates raise UnicodeEncodeError, which is a ValueError
        words += shlex.split(flag)
    if len(words) > MAX_FLAGS:
        raise ValueError(f"more than {MAX_FLAGS} flags")
    return tuple(word for word in words if word)


Flags = Annotated[tuple[StrictStr, ...], BeforeValidator(_words)]


class BuildRequest(_Untrusted):
    """One extension to be compiled. Raises ValueError (pydantic's ValidationError) for anything that it does not accept."""

    name: StrictStr
    """The extension's name: a C identifier, for PyInit_<name>."""
    sources: tuple[SourceFile, ...] = Field(min_length=1, max_length=MAX_FILES)
    headers: tuple[SourceFile, ...] = Field(default=(), max_length=MAX_FILES)
    """Files that lie beside the sources, to be included by them."""
    extra_cflags: Flags = ()
    extra_cuda_cflags: Flags = ()
    extra_ldflags: Flags = ()
    with_cuda: StrictBool = False
    """Whether the submission asked for CUDA's headers and libraries; a .cu source asks for them by itself."""

    @field_validator("name")
    @classmethod
    def _identifier(cls, name: str) -> str:
        if not EXTENSION_NAME.fullmatch(name):
            raise ValueError("the name of an extension is a C identifier of at most 200 characters")
        return name

    @model_validator(mode="after")
    def _within_limits(self) -> Self:
        files = self.sources + self.headers
        if len(files) > MAX_FILES:
            raise ValueError(f"more than {MAX_FILES} files")
        if len({file.name for file in files}) < len(files):
            raise ValueError("two files have the same name")
        if sum(len(file.text.encode()) for file in files) > MAX_TOTAL_BYTES:
            raise ValueError(f"the files have more than {MAX_TOTAL_BYTES} bytes together")
        for allowed, group in ((SOURCE_SUFFIXES, self.sources), (HEADER_SUFFIXES, self.headers)):
            for file in group:
                if file.suffix not in allowed:
                    raise ValueError(f"{file.name}: the suffix is none of {' '.join(allowed)}")
        return self

    @property
    def uses_cuda(self) -> bool:
        return self.with_cuda or any(source.is_cuda for source in self.sources)

    def source_of(self, output: str) -> SourceFile:
        """The source whose object is called `output`."""
        return next(source for source in self.sources if output == f"{source.name}.o")

    def key(self, toolchain: Toolchain) -> str:
        """SHA-256, in hex, of all that decides what the build makes and what is said about it."""
        return self._digest((EVALUATOR_VERSION, *toolchain.build_identity, self.name))

    def under_common_name(self) -> "BuildRequest":
        """The same request under a name that follows from its content, so that the same kernel is built once, whatever it is called.

        The request itself where the name is more than that of the module which PYBIND11_MODULE makes.
        """
        texts = [file.text for file in self.sources + self.headers]
        flags = " ".join(self.extra_cflags + self.extra_cuda_cflags + self.extra_ldflags)
        modules = sum(len(_OWN_MODULE.findall(text)) for text in texts)
        named = any(_NAMING.search(_OWN_MODULE.sub("", text)) for text in texts) or _NAMING.search(flags)
        if modules != 1 or named:
            return self
        return self.model_copy(update={"name": f"{COMMON_PREFIX}{self._digest(())[:16]}"})

    def _digest(self, facts: tuple[str, ...]) -> str:
        """Every field is preceded by its length and every list by its count, so that no byte can move from one field to the next unseen."""
        digest = hashlib.sha256()

        def field(text: str) -> None:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "big") + data)

        def fields(texts: tuple[str, ...]) -> None:
            digest.update(len(texts).to_bytes(8, "big"))
            for text in texts:
                field(text)

        fields(facts)
        for files in (self.sources, self.headers):
            fields(tuple(part for file in files for part in (file.name, file.text)))
        for flags in (self.extra_cflags, self.extra_cuda_cflags, self.extra_ldflags):
            fields(flags)
        field(str(self.with_cuda))
        return digest.hexdigest()
