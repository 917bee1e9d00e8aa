"""The command `assay`: one name for all command lines, from any folder. From Python: `from assay import judge`, the same as `pipeline`'s.

Each module imports only modules earlier in this list: `kernelbench` · `completion` · `commands` · `__main__`.
A command's own module is imported when the command runs, so that `assay --help` is fast.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Judge", "JudgeError", "feedback", "frame", "judge"]

if TYPE_CHECKING:
    from command.from_python import Judge, JudgeError, feedback, frame, judge
else:

    def __getattr__(name: str) -> Any:
        """Import the functions for callers in Python when they are used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from command import from_python

        return getattr(from_python, name)

    def __dir__() -> list[str]:
        return __all__
