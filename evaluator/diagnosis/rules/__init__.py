"""The rules that decide verdicts, a module for each family; `evaluator.diagnosis.diagnose` finds them here and tries them in their order.

To add a rule, add a module here with a function marked `@rule(order, gives)`, and a test with a table `RULES` in `tests/diagnosis/rules`.
The end of `docs/verdicts.md` lists the rules and their orders.
"""
