# wants: an exception that ends the process when somebody asks for its text
# problem: softmax
# expect: run_failed/early_exit | run_failed/python_exception
import os


class Last(BaseException):
    def __str__(self):
        os._exit(0)


def forward(self, x):
    raise Last
