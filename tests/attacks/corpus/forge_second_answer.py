# wants: its own answer believed instead of the worker's, by being the first to send one
# problem: gelu_tanh
# expect: disqualified/forged_result
import json
import os
import sys


def send(message):
    payload = json.dumps(message).encode()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), len(payload).to_bytes(4, "big") + payload)
        except OSError:
            continue


def forward(self, x):
    frame = sys._getframe()
    while frame and not (isinstance(frame.f_locals.get("request"), dict) and "seq" in frame.f_locals["request"]):
        frame = frame.f_back
    tensor = {"tensor": {"shape": list(x.shape), "dtype": "float32", "device": x.device.type}}
    send({"kind": "call", "seq": frame.f_locals["request"]["seq"] if frame else 0, "output": tensor})
    return nn.functional.gelu(x, approximate="tanh")
