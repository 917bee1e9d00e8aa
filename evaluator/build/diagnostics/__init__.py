"""Reads compilers' and linkers' output: their diagnostics, and the category of a failed build."""
