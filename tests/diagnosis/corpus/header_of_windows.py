# fault: a header of another system
# problem: topk
# expect: cpu build_failed/missing_header
# says: windows.h
# base: extension
TICKS = """
#include <windows.h>  // HERE
long ticks() { return GetTickCount(); }
"""


def __init__(self, k):
    super().__init__()
    self.clock = load_inline(name="ticks", cpp_sources=TICKS, no_implicit_headers=True)


def forward(self, x):
    return self.clock.ticks()
