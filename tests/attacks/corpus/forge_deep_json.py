# wants: a judge that runs out of stack
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b"[" * 200_000 + b"]" * 200_000
    yield len(payload).to_bytes(4, "big") + payload
