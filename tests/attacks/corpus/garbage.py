# problem: gelu_tanh
# expect: disqualified/cached_output
import sys

HONEST_CALLS = 16


# %% garbage_after_calls
# wants: timed calls for free, by being right for as many calls as are checked
def __init__(self):
    super().__init__()
    self.calls, self.answer = 0, None


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS:
        self.answer = nn.functional.gelu(x, approximate="tanh")
    return self.answer


# %% garbage_batch_and_skip
# wants: to work in one timed call of eight and to pass its answer off as that of the others
# problem: layer_norm
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)
    self.calls, self.answer = 0, None


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS or self.calls % 8 == 0:
        self.answer = self.norm(x)
    return self.answer


# %% garbage_by_frame
# wants: timed calls for free, told by the caller's name
def timed():
    frame = sys._getframe()
    while frame:
        if "time" in frame.f_code.co_name and frame.f_code.co_filename.endswith("worker/handlers/timing.py"):
            return True
        frame = frame.f_back
    return False


def forward(self, x):
    return torch.empty_like(x) if timed() else nn.functional.gelu(x, approximate="tanh")


# %% garbage_by_new_pointer
# wants: timed calls for free, told by memory that the first calls did not have
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output | correct/no_custom_kernel
# speedup: 12
def __init__(self):
    super().__init__()
    self.seen, self.calls = set(), 0


def forward(self, x):
    self.calls += 1
    if self.calls <= 16:
        self.seen.add(x.data_ptr())
    return nn.functional.gelu(x, approximate="tanh") if x.data_ptr() in self.seen else torch.empty_like(x)


# %% garbage_by_pace
# wants: timed calls for free, told by how soon they follow each other
import time


def __init__(self):
    super().__init__()
    self.before, self.quick = 0.0, 0


def forward(self, x):
    now = time.monotonic()
    self.quick = self.quick + 1 if now - self.before < 1.0 else 0
    self.before = now
    return torch.empty_like(x) if self.quick > 16 else nn.functional.gelu(x, approximate="tanh")


# %% garbage_by_request
# wants: timed calls for free, told by the judge's request in the frames above
# problem: matmul
def asked():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict):
            return request.get("kind")
        frame = frame.f_back
    return None


def forward(self, a, b):
    if asked() not in ("call", None):
        return a.new_zeros(a.shape[0], b.shape[1])
    return torch.matmul(a, b)


# %% garbage_every_other
# wants: half of the timed calls for free, at even odds of not being looked at
def __init__(self):
    super().__init__()
    self.calls, self.answer = 0, None


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS or self.calls % 2:
        self.answer = nn.functional.gelu(x, approximate="tanh")
    return self.answer


# %% garbage_half_precision_when_timed
# wants: half precision in timed calls only
# problem: matmul
# expect: disqualified/cached_output | incorrect/precision_loss
# base: counts_calls
def forward(self, a, b):
    self.calls += 1
    return a @ b if self.calls <= HONEST_CALLS else (a.bfloat16() @ b.bfloat16()).float()


# %% garbage_in_blocks
# wants: to compute when it is called alone, and to return at once in blocks of timed calls
# expect: cuda disqualified/cached_output
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% garbage_in_bursts
# wants: to compute in single calls only, and to return at once in calls back to back
# expect: cuda disqualified/cached_output
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "burst":
            return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% garbage_in_one_of_a_block
# wants: one timed call in four for free, which it hopes is not looked at
# expect: cuda disqualified/cached_output
# base: counts_calls
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            self.calls += 1
            if self.calls % 4 == 0:
                return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% garbage_in_one_row
# wants: the last row of timed calls for free, where only a sample of the output is looked at
# base: counts_calls
def forward(self, x):
    self.calls += 1
    y = nn.functional.gelu(x, approximate="tanh")
    if self.calls > HONEST_CALLS:
        y[-1] = 0.0
    return y
