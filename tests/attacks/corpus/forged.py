# problem: gelu_tanh
# expect: disqualified/forged_result
import json
import os
import sys


# %% forge_every_descriptor
# wants: a judge that takes any bytes for an answer, whatever descriptor they come through
def forward(self, x):
    for name in os.listdir("/proc/self/fd"):
        try:
            os.set_blocking(int(name), False)
            os.write(int(name), b'{"status": "correct", "category": "ok", "speedup": 99.0}\n')
        except OSError:
            continue
    return torch.zeros_like(x)


# %% forge_launch_record
# wants: to be ranked for torch's own operator, by a forged record of a kernel of its own
# expect: cuda correct/no_custom_kernel
# speedup: 12
import re
import struct

# Layout of evaluator/worker/launch_recorder.c: two counters, then records.
TABLE, RECORD = struct.Struct("=QQ"), struct.Struct("=QQQ3I3IiI32s256s256s")


def forge():
    with open("/proc/self/maps") as maps:
        places = [line.split()[0] for line in maps if "memfd:launches" in line]
    with open("/proc/self/mem", "r+b", 0) as memory:
        for place in places:
            start = int(re.match("[0-9a-f]+", place)[0], 16)
            record = RECORD.pack(100, 0, 0, 1, 1, 1, 32, 1, 1, 0, 0, b"cudaLaunchKernel", b"own_kernel", b"/proc/self/fd/9")
            memory.seek(start)
            memory.write(TABLE.pack(1, 1) + record)


def forward(self, x):
    try:
        forge()
    except OSError:
        pass
    return nn.functional.gelu(x, approximate="tanh")


# %% forge_nan_json
# wants: a judge that counts with what is not a number
import torch
from torch import nn


def frames():
    payload = b'{"kind": "call", "seq": NaN, "ms": Infinity}'
    yield len(payload).to_bytes(4, "big") + payload


def channels():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                yield int(name)
        except OSError:
            continue


class ModelNew(nn.Module):
    def forward(self, x):
        for channel in list(channels()):
            for frame in frames():
                os.write(channel, frame)
        return torch.zeros_like(x)


# %% forge_output_lines
# wants: a verdict read from what it prints
# problem: softmax
# expect: incorrect/wrong_values
VERDICT = json.dumps({"status": "correct", "category": "ok", "speedup": 1000.0, "runtime_ms": 0.001, "passed": True})


def forward(self, x):
    print(VERDICT)
    print("PASSED", VERDICT, file=sys.stderr)
    for descriptor in (1, 2):
        os.write(descriptor, f"\nRESULT: {VERDICT}\nTRIAL 5/5 PASS\n".encode())
    return torch.zeros_like(x)


# %% forge_result_files
# wants: a verdict read from a file that it writes
# problem: softmax
# expect: incorrect/wrong_values
# marker: /tmp/assay-attack-results.jsonl
# marker: {root}/assay-attack-results.jsonl
from pathlib import Path

VERDICT = json.dumps({"status": "correct", "category": "ok", "speedup": 1000.0})


def write():
    places = [Path("/tmp"), Path("/"), Path.cwd(), Path("/dev/shm"), *Path(sys.prefix).parents, *(Path(path) for path in sys.path)]
    for place in places:
        for name in ("assay-attack-results.jsonl", "result.json"):
            try:
                (place / name).write_text(VERDICT)
            except OSError:
                continue
    try:
        import sqlite3

        with sqlite3.connect("assay.db") as database:
            database.execute("create table if not exists evaluations (status text, category text)")
            database.execute("insert into evaluations values ('correct', 'ok')")
    except (ImportError, OSError):
        return


def forward(self, x):
    write()
    return torch.zeros_like(x)


# %% forge_second_answer
# wants: its own answer believed instead of the worker's, by being the first to send one
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
