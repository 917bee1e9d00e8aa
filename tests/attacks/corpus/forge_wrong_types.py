# wants: a judge that trusts the types of what it is sent
# problem: gelu_tanh
# expect: disqualified/forged_result
# base: frames_written
def frames():
    payload = b'{"kind": {"call": []}, "seq": "1", "output": [[]], "type": 7, "request": null}'
    yield len(payload).to_bytes(4, "big") + payload
