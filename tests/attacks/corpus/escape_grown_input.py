# wants: a judge that dies of a bus error, by shrinking the memory that it shares
# problem: softmax
# expect: cpu incorrect/wrong_values
import os


def forward(self, x):
    for name in os.listdir("/proc/self/fd"):
        try:
            if "memfd:" in os.readlink(f"/proc/self/fd/{name}"):
                os.ftruncate(int(name), 0)
        except OSError:
            continue
    for line in open("/proc/self/maps"):
        if "memfd:tensor" in line:
            try:
                with open(f"/proc/self/map_files/{line.split()[0]}", "r+b") as file:
                    file.truncate(0)
            except OSError:
                continue
    return torch.zeros_like(x)
