"""Turns a worker's build request into a shared object: confined compilers, and a cache of their results."""

from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.cache import Cache
from evaluator.build.native import compile_native
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.build.toolchain import Toolchain

__all__ = ["BuildOutcome", "BuildRequest", "Builder", "Cache", "SourceFile", "Toolchain", "compile_native"]
