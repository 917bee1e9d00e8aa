#!/bin/bash
# Asks the judging service, and leaves its reward. Paths can be set, to try it outside of Harbor.

tests=${TESTS_DIR:-/tests}
export ANSWER=${ANSWER:-/app/answer.py}
export LOGS=${LOGS:-/logs/verifier}

mkdir -p "$LOGS"
rm -f "$LOGS/reward.txt" "$LOGS/reward.json"
PYTHONPATH="$tests" exec "${PYTHON:-python3}" "$tests/verify.py"
