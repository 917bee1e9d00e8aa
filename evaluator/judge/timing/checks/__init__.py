"""Checks of claimed times: calls behind the gate, outputs that the judge picks, and the comparison with the baseline alone."""
