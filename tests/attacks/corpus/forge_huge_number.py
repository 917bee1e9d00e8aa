# wants: a judge that converts a number of a million digits
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": ' + b"9" * 1_000_000 + b"}"
    yield len(payload).to_bytes(4, "big") + payload
