# problem: gelu_tanh
# expect: wrong when timed
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


# %% garbage_by_new_pointer
# wants: timed calls for free, told by memory that the first calls did not have
# expect: cpu wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
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


# %% garbage_in_blocks
# wants: to compute when it is called alone, and to return at once in blocks of timed calls
# expect: cuda wrong when timed
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "block":
            return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% garbage_in_bursts
# wants: to compute in single calls only, and to return at once in calls back to back
# expect: cuda wrong when timed
def forward(self, x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "burst":
            return torch.empty_like(x)
        frame = frame.f_back
    return nn.functional.gelu(x, approximate="tanh")


# %% garbage_in_one_of_a_block
# wants: one timed call in four for free, which it hopes is not looked at
# expect: cuda wrong when timed
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
