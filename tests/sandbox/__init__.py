"""Tests of `evaluator.sandbox`."""
