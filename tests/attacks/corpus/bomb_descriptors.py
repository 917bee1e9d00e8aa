# wants: more descriptors than the limit allows
# problem: softmax
# expect: incorrect/wrong_values
import os

LIMIT = 5000


def opened():
    descriptors = []
    try:
        while len(descriptors) < 2 * LIMIT:
            descriptors.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for descriptor in descriptors:
        os.close(descriptor)
    return len(descriptors)


def __init__(self):
    super().__init__()
    self.beyond = opened() > LIMIT


def forward(self, x):
    return torch.softmax(x, 1) if self.beyond else torch.zeros_like(x)
