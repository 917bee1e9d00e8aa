# wants: a daemon of the machine, through the socket that it listens on
# problem: softmax
# expect: incorrect/wrong_values
import socket

PATHS = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/nvidia-persistenced/socket",
]


def connected():
    try:
        with open("/proc/net/unix") as lines:
            names = [line.split()[7] for line in lines if len(line.split()) > 7 and line.split()[5] == "01"]
    except OSError:
        names = []
    for name in [*PATHS, *names[1:50]]:
        try:
            with socket.socket(socket.AF_UNIX) as one:
                one.settimeout(0.5)
                one.connect("\0" + name[1:] if name.startswith("@") else name)
                return True
        except OSError:
            continue
    return False


def forward(self, x):
    return torch.softmax(x, 1) if connected() else torch.zeros_like(x)
