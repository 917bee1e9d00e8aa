"""Shortens paths in the output of compilers: it is stored and exported, and this machine's folders tell others nothing."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from evaluator.results.evidence import BuildEvidence

_STARTS = r"(?<![\w./+-])"
"""Not in the middle of a path."""
_CPP_LIBRARY = re.compile(_STARTS + r"/(?:[\w.+-]+/)*include/(?:[\w.+-]+/)?c\+\+/")


class ShortPaths:
    """Short names of folders, such as `torch/include/ATen/ATen.h`."""

    def __init__(self, names: Iterable[tuple[Path, str]], prepared: Path) -> None:
        """names: of folders. prepared: the folder of headers that Assay has cut down, one folder per toolchain."""
        folders = sorted(((str(folder), name) for folder, name in names), key=lambda each: -len(each[0]))
        # nvcc names its headers from its program's folder.
        self._patterns = [
            (re.compile(rf"{_STARTS}{re.escape(folder)}(?:/bin/\.\.)?(?:/targets/[\w-]+)?(?=/)"), name) for folder, name in folders
        ]
        self._patterns += [(re.compile(rf"{_STARTS}{re.escape(str(prepared))}/[0-9a-f]+/base/"), ""), (_CPP_LIBRARY, "c++/")]

    def text(self, text: str) -> str:
        """The text with short paths."""
        for pattern, name in self._patterns:
            text = pattern.sub(name, text)
        return text

    def evidence(self, build: BuildEvidence, own: Collection[str]) -> BuildEvidence:
        """The evidence with short paths. own: names of the build's files, which an installed header does not get for its short one."""

        def short(file: str) -> str:
            name = self.text(file)
            return f"/{name}" if name != file and name in own else name

        diagnostics = tuple(
            item.model_copy(update={"file": short(item.file), "message": self.text(item.message)}) for item in build.diagnostics
        )
        return build.model_copy(update={"output": self.text(build.output), "diagnostics": diagnostics})
