# wants: every request of the future answered in advance
# problem: gelu_tanh
# expect: disqualified/forged_result
import json
import os


def send(messages):
    payloads = [json.dumps(message).encode() for message in messages]
    data = b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), data)
        except OSError:
            continue


def __init__(self):
    super().__init__()
    send([{"kind": kind, "seq": seq, "ms": 0.001} for seq in range(1, 60) for kind in ("construct", "map", "time")])


def forward(self, x):
    return nn.functional.gelu(x, approximate="tanh")
