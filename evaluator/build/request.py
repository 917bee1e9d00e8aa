"""A worker's request to the builder: only source texts and flags.

Every value comes from an untrusted process, so the model accepts only what the builder can use safely: paths below its folder, limited
sizes, no bytes that a command line or file name can't hold. The flags themselves may be anything that a compiler understands: compilers run
confined, and the cache key is a hash of the whole request.
"""

import hashlib
import re
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, field_validator, model_validator

from evaluator.build.toolchain import Toolchain
from evaluator.results.result import EVALUATOR_VERSION
from evaluator.worker.protocol import COMMON_PREFIX, MAX_HEADERS, MAX_HEADERS_BYTES, is_path

MAX_FILES = 64
MAX_TOTAL_BYTES = 4 << 20
MAX_FLAGS = 256
MAX_FLAG_CHARS = 4096
SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".cu")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
"""The name of a source: starts with neither dot nor dash: no hidden file, no parent folder, and no option for a compiler."""
_OWN_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*TORCH_EXTENSION_NAME\s*,")
_NAMING = re.compile(r"TORCH_EXTENSION_NAME|PYBIND11_(?:EMBEDDED_)?MODULE|PyInit")
EXTENSION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class _Untrusted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _path(path: str) -> str:
    if not is_path(path):
        raise ValueError("a path has at most 16 printable names of 255 bytes that do not start with a dot, and no - or @ before them")
    return path


class SourceFile(_Untrusted):
    """One file of a request."""

    name: Annotated[StrictStr, AfterValidator(_path)]
    """Its path in the builder's folder."""
    text: StrictStr

    @field_validator("text")
    @classmethod
    def _encodable(cls, text: str) -> str:
        if "\0" in text:
            raise ValueError("a source contains a NUL character")
        text.encode()  # lone surrogates raise UnicodeEncodeError, which is a ValueError
        return text

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def output(self) -> str:
        """The object that it is compiled to."""
        return f"{PurePosixPath(self.name).name}.o"

    @property
    def is_cuda(self) -> bool:
        return self.suffix == ".cu"


def _words(value: Any) -> Any:
    """Flags as separate arguments: PyTorch passes them to a shell, so `"-O3 --use_fast_math"` is two; empty strings are none.

    Raises ValueError for an unclosed quote.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MAX_FLAGS:
        raise ValueError(f"flags must be a list of at most {MAX_FLAGS} strings")
    words: list[str] = []
    for flag in value:
        if not isinstance(flag, str) or len(flag) > MAX_FLAG_CHARS or "\0" in flag:
            raise ValueError(f"a flag must be a string of at most {MAX_FLAG_CHARS} characters without NUL")
        flag.encode()  # lone surrogates raise UnicodeEncodeError, which is a ValueError
        words += shlex.split(flag)
    if len(words) > MAX_FLAGS:
        raise ValueError(f"more than {MAX_FLAGS} flags")
    return tuple(word for word in words if word)


Flags = Annotated[tuple[StrictStr, ...], BeforeValidator(_words)]


class BuildRequest(_Untrusted):
    """One extension to compile. Raises ValueError (pydantic's ValidationError) for anything that it does not accept."""

    name: StrictStr
    """The extension's name: a C identifier, for PyInit_<name>."""
    sources: tuple[SourceFile, ...] = Field(min_length=1, max_length=MAX_FILES)
    headers: tuple[SourceFile, ...] = Field(default=(), max_length=MAX_HEADERS)
    """Files for the sources to include."""
    include_paths: tuple[Annotated[StrictStr, AfterValidator(_path)] | Literal["."], ...] = Field(default=(), max_length=MAX_FILES)
    """Folders of headers that are searched for any include."""
    extra_cflags: Flags = ()
    extra_cuda_cflags: Flags = ()
    extra_ldflags: Flags = ()
    with_cuda: StrictBool = False
    """Whether the submission asked for CUDA's headers and libraries; a .cu source implies it."""

    @field_validator("name")
    @classmethod
    def _identifier(cls, name: str) -> str:
        if not EXTENSION_NAME.fullmatch(name):
            raise ValueError("the name of an extension must be a C identifier of at most 200 characters")
        return name

    @model_validator(mode="after")
    def _within_limits(self) -> Self:
        files = self.sources + self.headers
        names = {file.name for file in files}
        outputs = {source.output for source in self.sources}
        if len(names) < len(files) or len(outputs) < len(self.sources):
            raise ValueError("two files have the same name")
        if names & {str(folder) for name in names for folder in PurePosixPath(name).parents}:
            raise ValueError("a file has the name of a folder")
        if {*outputs, f"{self.name}.so"} & {name.partition("/")[0] for name in names}:
            raise ValueError("a file has the name of an output")
        for group, limit_bytes in ((self.sources, MAX_TOTAL_BYTES), (self.headers, MAX_HEADERS_BYTES)):
            if sum(len(file.text.encode()) for file in group) > limit_bytes:
                raise ValueError(f"the files have more than {limit_bytes} bytes together")
        for source in self.sources:
            if source.suffix not in SOURCE_SUFFIXES:
                raise ValueError(f"{source.name}: the suffix must be one of {' '.join(SOURCE_SUFFIXES)}")
            if not FILE_NAME.fullmatch(PurePosixPath(source.name).name):
                raise ValueError("a source's name has at most 128 letters, digits and _.+-, and does not start with . + or -")
        return self

    @property
    def has_folders(self) -> bool:
        """Whether any file is in a folder, or other folders are searched than the builder's own."""
        return any(path != "." for path in self.include_paths) or any("/" in file.name for file in self.sources + self.headers)

    @property
    def uses_cuda(self) -> bool:
        return self.with_cuda or any(source.is_cuda for source in self.sources)

    def source_of(self, output: str) -> SourceFile:
        """The source whose object is called `output`."""
        return next(source for source in self.sources if output == source.output)

    def key(self, toolchain: Toolchain) -> str:
        """SHA-256, in hex, of everything that decides the build's result and messages."""
        return self._digest((EVALUATOR_VERSION, *toolchain.build_identity, self.name))

    def under_common_name(self) -> "BuildRequest":
        """The request under a name derived from its content, so that the same kernel is built once under any name.

        Unchanged if the name occurs other than as the module that PYBIND11_MODULE makes.
        """
        texts = [file.text for file in self.sources + self.headers]
        flags = " ".join(self.extra_cflags + self.extra_cuda_cflags + self.extra_ldflags)
        modules = sum(len(_OWN_MODULE.findall(text)) for text in texts)
        named = any(_NAMING.search(_OWN_MODULE.sub("", text)) for text in texts) or _NAMING.search(flags)
        if modules != 1 or named:
            return self
        return self.model_copy(update={"name": f"{COMMON_PREFIX}{self._digest(())[:16]}"})

    def _digest(self, facts: tuple[str, ...]) -> str:
        """Each field follows its length and each list its count, so that no byte can move between fields without changing the hash."""
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
        for flags in (self.include_paths, self.extra_cflags, self.extra_cuda_cflags, self.extra_ldflags):
            fields(flags)
        field(str(self.with_cuda))
        return digest.hexdigest()
