# wants: a judge that reads four gigabytes, or waits for them
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    yield b"\xff\xff\xff\xff" + b"x" * 1000
