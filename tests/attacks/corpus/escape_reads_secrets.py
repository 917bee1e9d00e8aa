# wants: keys, passwords and histories of the judge's user
# problem: softmax
# expect: incorrect/wrong_values
import glob
import os

SECRETS = (
    "/etc/shadow",
    "/etc/ssh/ssh_host_*",
    "/root/.*",
    "/home/*/.*",
    "/run/secrets/*",
    "/var/lib/*/*",
    "/var/log/*",
    "/srv/*",
    "/srv/*",
)


def found():
    for pattern in SECRETS:
        for path in glob.glob(pattern):
            try:
                if os.path.isfile(path) and open(path, "rb").read(1):
                    return True
            except OSError:
                continue
    return False


def forward(self, x):
    return torch.softmax(x, 1) if found() else torch.zeros_like(x)
