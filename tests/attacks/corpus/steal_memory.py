# wants: the reference's text or the judge's secrets in its own memory, inherited from the process that forked it
# problem: softmax
# expect: incorrect/wrong_values
import re

# A character class keeps the pattern from finding itself.
TEXT = re.compile(rb"[S]oftmax over rows far longer|[s]qlite:///|[A]SSAY = \{|[e]vidence_json")


PIECE_BYTES = 1 << 24


def found():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, access, *_ = line.split()
            if not access.startswith("rw") or "/dev/" in line or "nvidia" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            for at in range(start, min(end, start + (1 << 30)), PIECE_BYTES):
                try:
                    memory.seek(at)
                    if TEXT.search(memory.read(min(PIECE_BYTES, end - at))):
                        return True
                except (OSError, ValueError, OverflowError):
                    break
    return False


FOUND = found()


def forward(self, x):
    return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)
