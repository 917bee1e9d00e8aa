"""Options from a file: `assay.toml`, or the table `[tool.assay]` of `pyproject.toml`, in the words of the command line.

Each module imports only modules earlier in this list: `file` · `values` · `options`. Everything is derived from the parsers of the
command lines, so a new option needs no change here. Of the evaluator, it imports only `evaluator.results`.
"""
