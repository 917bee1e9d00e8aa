"""Why a submission is judged again. `evaluator.judge.attempts` has what each reason changes, and which result counts."""

from enum import Enum, auto


class Reason(Enum):
    """A reason for a rerun. It is no verdict."""

    CROWDED = auto()
    OWN_PARAMETERS = auto()
    NOT_SLOW = auto()
    UNFIT_PROTOCOL = auto()
    UNEVEN = auto()
    OVERFLOW = auto()
    DISTURBED = auto()
    CONTESTED = auto()
    KEPT_MODELS = auto()


class Again(Exception):  # noqa: N818
    """The submission has to be judged again, from some step on."""

    def __init__(self, reason: Reason, remark: str = "") -> None:
        """remark: what was observed."""
        super().__init__(remark or reason.name)
        self.reason = reason
