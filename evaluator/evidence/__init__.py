"""What was observed of an evaluation: what its verdict rests on.

Every figure carries its unit in its name. Everything here is plain data that goes through JSON unchanged.
"""

from evaluator.evidence.build import BuildAttempt, BuildEvidence, Diagnostic
from evaluator.evidence.device import ConditionsEvidence, DeviceState, FloorEvidence, LightEvidence, StarvingEvidence
from evaluator.evidence.ending import ExceptionEvidence, ExitEvidence
from evaluator.evidence.launches import FaultEvidence, KernelLimits, KernelTimes, LaunchRecord
from evaluator.evidence.record import Record
from evaluator.evidence.rounds import AblationEvidence, ErrorFigures, ErrorMap, RoundEvidence, ShapeEvidence, WrongElement
from evaluator.evidence.sanitizer import SanitizerEvidence, SanitizerFinding, SanitizerPlace, SanitizerRun
from evaluator.evidence.timing import DISTURBED_SHARE, OtherTiming, TimingEvidence, TimingSide, WrongTimedAnswer
from evaluator.evidence.whole import Evidence

__all__ = [
    "DISTURBED_SHARE",
    "AblationEvidence",
    "BuildAttempt",
    "BuildEvidence",
    "ConditionsEvidence",
    "DeviceState",
    "Diagnostic",
    "ErrorFigures",
    "ErrorMap",
    "Evidence",
    "ExceptionEvidence",
    "ExitEvidence",
    "FaultEvidence",
    "FloorEvidence",
    "KernelLimits",
    "KernelTimes",
    "LaunchRecord",
    "LightEvidence",
    "OtherTiming",
    "Record",
    "RoundEvidence",
    "SanitizerEvidence",
    "SanitizerFinding",
    "SanitizerPlace",
    "SanitizerRun",
    "ShapeEvidence",
    "StarvingEvidence",
    "TimingEvidence",
    "TimingSide",
    "WrongElement",
    "WrongTimedAnswer",
]
