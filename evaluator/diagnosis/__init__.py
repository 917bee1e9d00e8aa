"""From evidence to a verdict, and to advice on how to fix the submission.

`diagnose.py` and `rules/` decide; `feedback.py` and `notes/` say what to do; `explanation.py` says what a category means.
"""

from evaluator.diagnosis.diagnose import diagnose
from evaluator.diagnosis.rules.disqualified_rules import LEAST_FLOOR_MS
from evaluator.diagnosis.rules.exception_rules import DEVICE_ERRORS
from evaluator.diagnosis.verdict import Verdict

__all__ = ["DEVICE_ERRORS", "LEAST_FLOOR_MS", "Verdict", "diagnose"]
