"""Options from a file: `assay.toml`, or the table `[tool.assay]` of `pyproject.toml`, in the words of the command line.

Each module imports only what stands before it in this list: `file` · `values` · `options`. All of it is derived from the parsers of the
command lines, so that a new option needs nothing here. Of the evaluator, it imports `evaluator.results` alone.
"""
