# wants: a judge that counts with what is not a number
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": NaN, "ms": Infinity}'
    yield len(payload).to_bytes(4, "big") + payload
