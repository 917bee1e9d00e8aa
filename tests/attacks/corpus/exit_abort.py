# wants: an abort that takes the judge along or drops the submission from the count
# problem: softmax
# expect: run_failed/process_crash
import os


def forward(self, x):
    os.abort()
