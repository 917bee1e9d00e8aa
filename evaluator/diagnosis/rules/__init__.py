"""The rules that decide verdicts, a module for each family; `evaluator.diagnosis.diagnose` finds them here and tries them in their order.

To add a rule, add a module here with a function marked `@rule(order, gives)`. The orders in use and who has them:
`python -m evaluator.diagnosis.explanation` prints them.
"""
