"""Exit codes of the command line, and the error for wrong usage."""

ALL_EVALUATED, SOME_NOT_EVALUATED, USAGE, FAILED_ON, INTERRUPTED = 0, 1, 2, 3, 130
"""`FAILED_ON` only with `--fail-on`."""


class UsageError(Exception):
    """The options ask for something impossible. The message is for the user."""


def expected() -> tuple[type[Exception], ...]:
    """Errors whose message is all that the user needs to know. Importing them takes as long as importing their modules."""
    from db.error import StoreError
    from evaluator.build.native import NativeBuildError
    from evaluator.dsl import PluginError
    from evaluator.engine.engine import EngineError
    from evaluator.machine.devices import DeviceError
    from evaluator.problem.execute import ProblemError
    from evaluator.sandbox import SandboxUnavailable
    from evaluator.sanitizer.tools import SanitizerMissingError
    from evaluator.submission.source import InputError

    return (
        UsageError,
        InputError,
        ProblemError,
        StoreError,
        DeviceError,
        EngineError,
        PluginError,
        SandboxUnavailable,
        NativeBuildError,
        SanitizerMissingError,
    )
