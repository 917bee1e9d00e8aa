# wants: to talk to the network
# problem: softmax
# expect: incorrect/wrong_values
import socket


def opened():
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try:
                with socket.socket(family, kind) as one:
                    if family in (socket.AF_INET, socket.AF_INET6):
                        one.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
                    return True
            except OSError:
                continue
    return False


def forward(self, x):
    return torch.softmax(x, 1) if opened() else torch.zeros_like(x)
