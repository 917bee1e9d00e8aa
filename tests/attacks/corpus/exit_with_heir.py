# wants: to end while a child holds the channel open and goes on talking
# problem: softmax
# expect: run_failed/early_exit | disqualified/forged_result
# marker: process:assay-heir
import ctypes
import json
import os
import time


def forward(self, x):
    if os.fork():
        os._exit(0)
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"assay-heir", 0, 0, 0)
    time.sleep(0.3)
    payload = json.dumps({"kind": "call", "seq": 6, "output": {"value": None}}).encode()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), len(payload).to_bytes(4, "big") + payload)
        except OSError:
            continue
    time.sleep(60)
    os._exit(0)
