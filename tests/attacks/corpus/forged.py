# problem: gelu_tanh
# expect: disqualified/forged_result
import json
import os
import sys


# %% forge_answers_ahead
# wants: every request of the future answered in advance
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


# %% forge_build_request
# wants: a judge that opens a path of the worker's choosing
# expect: disqualified/forged_result | build_failed/load_inline_misuse | run_failed/python_exception
# base: frames_written
def frames():
    payload = b'{"kind": "build", "request": {"name": "../../etc/passwd", "sources": [{"name": "/etc/shadow", "text": "x"}]}}'
    yield len(payload).to_bytes(4, "big") + payload


# %% forge_deep_json
# wants: a judge that runs out of stack
# base: frames_written
def frames():
    payload = b"[" * 200_000 + b"]" * 200_000
    yield len(payload).to_bytes(4, "big") + payload


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


# %% forge_flood
# wants: a judge whose memory is full of frames
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": 0, "x": "' + b"x" * (1 << 20) + b'"}'
    for _ in range(64):
        yield len(payload).to_bytes(4, "big") + payload


# %% forge_huge_number
# wants: a judge that converts a number of a million digits
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": ' + b"9" * 1_000_000 + b"}"
    yield len(payload).to_bytes(4, "big") + payload


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
# base: frames_written
def frames():
    payload = b'{"kind": "call", "seq": NaN, "ms": Infinity}'
    yield len(payload).to_bytes(4, "big") + payload


# %% forge_not_unicode
# wants: a judge that dies of bytes that are no text
# base: frames_written
def frames():
    payload = b'{"kind": "\xff\xfe\xed\xa0\x80", "seq": 1}'
    yield len(payload).to_bytes(4, "big") + payload


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


# %% forge_oversized_frame
# wants: a judge that reads four gigabytes, or waits for them
# base: frames_written
def frames():
    yield b"\xff\xff\xff\xff" + b"x" * 1000


# %% forge_pickle
# wants: a judge that unpickles what it is sent, and so runs it
# marker: /tmp/assay-attack-pickle
# marker: /var/tmp/assay-attack-pickle
import pickle


class Marker:
    def __reduce__(self):
        return os.system, ("touch /tmp/assay-attack-pickle /var/tmp/assay-attack-pickle",)


def forward(self, x):
    payload = pickle.dumps(Marker())
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), len(payload).to_bytes(4, "big") + payload)
                os.write(int(name), payload)
        except OSError:
            continue
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


# %% forge_truncated_frame
# wants: a judge that waits for the rest of a frame for ever
# expect: disqualified/forged_result | run_failed/timeout
# base: frames_written
def frames():
    yield (1000).to_bytes(4, "big") + b'{"kind"'


# %% forge_wrong_types
# wants: a judge that trusts the types of what it is sent
# base: frames_written
def frames():
    payload = b'{"kind": {"call": []}, "seq": "1", "output": [[]], "type": 7, "request": null}'
    yield len(payload).to_bytes(4, "big") + payload
