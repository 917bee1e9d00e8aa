# wants: a judge whose memory is full of frames
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": 0, "x": "' + b"x" * (1 << 20) + b'"}'
    for _ in range(64):
        yield len(payload).to_bytes(4, "big") + payload
