"""Inputs of the correctness rounds: their structure, their changes, and which rounds decide."""
