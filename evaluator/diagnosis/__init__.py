"""From evidence to verdict, and to words that a submission can be repaired from."""

from evaluator.diagnosis.conduct import LEAST_FLOOR_MS
from evaluator.diagnosis.exceptions import DEVICE_ERRORS
from evaluator.diagnosis.rules import diagnose
from evaluator.diagnosis.verdict import Verdict

__all__ = ["DEVICE_ERRORS", "LEAST_FLOOR_MS", "Verdict", "diagnose"]
