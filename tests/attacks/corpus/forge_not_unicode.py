# wants: a judge that dies of bytes that are no text
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b'{"kind": "\xff\xfe\xed\xa0\x80", "seq": 1}'
    yield len(payload).to_bytes(4, "big") + payload
