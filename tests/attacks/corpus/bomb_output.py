# wants: a judge that drowns in output, or a pipe that nobody empties
# problem: softmax
# expect: incorrect/wrong_values
# base: zeros
import os

PIECE = b"\xff\xfe not text \x00" * 8192


def __init__(self):
    super().__init__()
    for _ in range(400):
        os.write(1, PIECE)
        os.write(2, PIECE)
