# wants: a judge that waits for the rest of a frame for ever
# problem: gelu_tanh
# expect: disqualified/forged_result | run_failed/timeout
# base: frames_written
def frames():
    yield (1000).to_bytes(4, "big") + b'{"kind"'
