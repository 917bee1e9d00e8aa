# wants: an evaluation that ends with sys.exit and is forgotten
# problem: softmax
# expect: run_failed/early_exit
import sys


def forward(self, x):
    sys.exit(0)
