# wants: a judge whose descriptors are used up by those that it is sent
# problem: softmax
# expect: incorrect/wrong_values | disqualified/forged_result
import os
import socket


def forward(self, x):
    null = os.open("/dev/null", os.O_RDONLY)
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as channel:
                    for _ in range(20):
                        socket.send_fds(channel, [b"\0\0\0\2{}"], [null] * 200)
        except OSError:
            continue
    return torch.zeros_like(x)
