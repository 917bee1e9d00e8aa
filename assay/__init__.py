"""The command `assay`: one name for all command lines, from any folder.

Each module imports only what stands before it in this list: `completion` · `commands` · `__main__`.
A command's own module is imported when the command is run, so that `assay --help` answers at once.
"""
