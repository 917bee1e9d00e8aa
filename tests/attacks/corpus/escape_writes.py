# wants: a file outside its private directory
# problem: softmax
# expect: incorrect/wrong_values
# marker: /tmp/assay-attack-write
# marker: /var/tmp/assay-attack-write
# marker: /dev/shm/assay-attack-write
# marker: {home}/assay-attack-write
# marker: {prefix}/assay-attack-write
# marker: {root}/assay-attack-write
import os
import sys
from pathlib import Path

PLACES = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/root",
    "/etc",
    "/usr/lib",
    "/",
    "/proc/1/cwd",
    "/proc/self/root/tmp",
    sys.prefix,
    sys.base_prefix,
]


def write():
    for place in [*PLACES, *map(str, Path(sys.prefix).parents), *sys.path, *(str(home) for home in Path("/home").glob("*"))]:
        try:
            with open(os.path.join(place, "assay-attack-write"), "w") as file:
                file.write("x")
        except OSError:
            continue


def forward(self, x):
    write()
    return torch.zeros_like(x)
