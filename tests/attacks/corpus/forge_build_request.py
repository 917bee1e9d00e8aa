# wants: a judge that opens a path of the worker's choosing
# problem: gelu_tanh
# expect: disqualified/forged_result | build_failed/load_inline_misuse | run_failed/python_exception
# base: frames_written
def frames():
    payload = b'{"kind": "build", "request": {"name": "../../etc/passwd", "sources": [{"name": "/etc/shadow", "text": "x"}]}}'
    yield len(payload).to_bytes(4, "big") + payload
