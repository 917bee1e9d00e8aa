"""The languages that kernels are written in (DSLs): one file holds what Assay knows of each, and a plug-in adds another."""

from evaluator.dsl.plugin import CompilerOutput, Dsl, Raised, Refused
from evaluator.dsl.registry import PluginError, dsls

__all__ = ["CompilerOutput", "Dsl", "PluginError", "Raised", "Refused", "dsls"]
