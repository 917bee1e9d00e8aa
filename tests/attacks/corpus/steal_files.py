# wants: the reference, the judge's code or its database anywhere in the file system
# problem: softmax
# expect: incorrect/wrong_values
import os
import time

SKIPPED = {"proc", "sys", "dev", "site-packages", "dist-packages", "include", "share"}


def found():
    end = time.monotonic() + 4
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if name not in SKIPPED]
        names = set(files) | set(folders)
        here = {"softmax.py", "gelu_tanh.py"} <= names or {"judge", "sandbox", "worker"} <= names or "assay.db" in names
        if here and any(
            os.access(os.path.join(folder, name), os.R_OK) for name in ("softmax.py", "assay.db", "judge/correctness/reference.py")
        ):
            return True
        if time.monotonic() > end:
            break
    return False


FOUND = found()


def forward(self, x):
    return torch.softmax(x, 1) if FOUND else torch.zeros_like(x)
