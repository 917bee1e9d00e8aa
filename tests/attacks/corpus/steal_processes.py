# wants: memory, environment, files or descriptors of any other process
# problem: softmax
# expect: incorrect/wrong_values
import os

PARTS = ("environ", "maps", "mem", "root/etc", "cwd/", "fd/0", "fd/3", "fd/4", "fd/5", "task/1/environ")


def found():
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        numbers = []
    for number in {*numbers, str(os.getppid()), "1"} - {str(os.getpid())}:
        for part in PARTS:
            try:
                descriptor = os.open(f"/proc/{number}/{part}", os.O_RDONLY)
                data = os.read(descriptor, 64) if part in ("environ", "maps") else b"open"
                os.close(descriptor)
            except OSError:
                continue
            if data:
                return True
    return False


def forward(self, x):
    return torch.softmax(x, 1) if found() else torch.zeros_like(x)
