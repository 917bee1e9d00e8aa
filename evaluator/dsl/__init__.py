"""The languages that kernels are written in (DSLs): what Assay knows of each is one file, and a plug-in adds another."""

from evaluator.dsl.plugin import CompilerOutput, Dsl, Raised, Refused
from evaluator.dsl.registry import PluginError, dsls

__all__ = ["CompilerOutput", "Dsl", "PluginError", "Raised", "Refused", "dsls"]
