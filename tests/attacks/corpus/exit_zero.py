# wants: exit code 0 taken for success
# problem: softmax
# expect: run_failed/early_exit
import os


def forward(self, x):
    os._exit(0)
