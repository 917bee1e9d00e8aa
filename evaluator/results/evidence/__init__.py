"""The observations of an evaluation, from which rules derive its verdict.

Every figure has its unit in its name. All types are plain data, and JSON keeps them unchanged.
"""

from evaluator.results.evidence.build import BuildAttempt, BuildEvidence, Diagnostic
from evaluator.results.evidence.device import ConditionsEvidence, DeviceState, FloorEvidence, LightEvidence, StarvingEvidence
from evaluator.results.evidence.ending import ExceptionEvidence, ExitEvidence
from evaluator.results.evidence.evidence import Evidence
from evaluator.results.evidence.launches import FaultEvidence, KernelLimits, KernelTimes, LaunchRecord
from evaluator.results.evidence.profile import KernelProfile, ProfiledSide, ProfileEvidence, Stall
from evaluator.results.evidence.record import Record
from evaluator.results.evidence.rounds import (
    OWN_TIME_SHARE,
    OWN_WRITTEN_SHARE,
    AblationEvidence,
    ChangedInputsEvidence,
    ErrorFigures,
    ErrorMap,
    LeftOutBy,
    OwnWorkEvidence,
    ParametersEvidence,
    RoundEvidence,
    ShapeEvidence,
    WrongElement,
)
from evaluator.results.evidence.sanitizer import SanitizerEvidence, SanitizerFinding, SanitizerPlace, SanitizerRun
from evaluator.results.evidence.timing import DISTURBED_SHARE, OtherTiming, TimingEvidence, TimingSide, WorkloadEvidence, WrongTimedAnswer

__all__ = [
    "DISTURBED_SHARE",
    "OWN_TIME_SHARE",
    "OWN_WRITTEN_SHARE",
    "AblationEvidence",
    "BuildAttempt",
    "BuildEvidence",
    "ChangedInputsEvidence",
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
    "KernelProfile",
    "KernelTimes",
    "LaunchRecord",
    "LeftOutBy",
    "LightEvidence",
    "OtherTiming",
    "OwnWorkEvidence",
    "ParametersEvidence",
    "ProfileEvidence",
    "ProfiledSide",
    "Record",
    "RoundEvidence",
    "SanitizerEvidence",
    "SanitizerFinding",
    "SanitizerPlace",
    "SanitizerRun",
    "ShapeEvidence",
    "Stall",
    "StarvingEvidence",
    "TimingEvidence",
    "TimingSide",
    "WorkloadEvidence",
    "WrongElement",
    "WrongTimedAnswer",
]
