# problem: softmax
# expect: incorrect/wrong_values
import ctypes
import glob
import os
import socket
import sys


# %% build_reads_files
# wants: a secret compiled into its extension
# expect: incorrect/wrong_values | build_failed/missing_header | build_failed/cpp_compile_error
# base: extension
def stolen():
    try:
        load_inline(
            name="assay_attack_reads",
            cpp_sources="int answer() { return 42; }",
            functions=["answer"],
            extra_cflags=["-include", "/etc/shadow", "-include", "/reference/softmax.py"],
        )
    except (RuntimeError, OSError, ImportError):
        return False
    return True


STOLEN = stolen()


def forward(self, x):
    return torch.softmax(x, 1) if STOLEN else torch.zeros_like(x)


# %% build_runs_commands
# wants: a command run by the builder, outside its own sandbox
# marker: /tmp/assay-attack-build
# marker: /var/tmp/assay-attack-build
# base: zeros
from torch.utils.cpp_extension import load_inline

FLAGS = (
    ["-wrapper", "/usr/bin/touch,/tmp/assay-attack-build,/var/tmp/assay-attack-build"],
    ["-fplugin=/tmp/submission.py"],
    ["-O0; touch /tmp/assay-attack-build"],
    ["$(touch /var/tmp/assay-attack-build)"],
    ["-o", "/var/tmp/assay-attack-build"],
)


def built(number, flags):
    try:
        load_inline(name=f"assay_attack_{number}", cpp_sources="int answer( { broken", functions=["answer"], extra_cflags=flags)
    except (RuntimeError, OSError, ImportError, ValueError):
        return False
    return True


BUILT = [built(number, flags) for number, flags in enumerate(FLAGS)]


# %% escape_by_child
# wants: new namespaces and a mount of its own, in a child that may fail without harm
NEW_USER, NEW_MOUNT = 0x10000000, 0x20000


def gained():
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if not child:
        os._exit(0 if libc.unshare(NEW_USER | NEW_MOUNT) == 0 and libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def forward(self, x):
    return torch.softmax(x, 1) if gained() else torch.zeros_like(x)


# %% escape_daemon
# wants: to outlive its evaluation
# marker: process:assay-daemon
# marker: /tmp/assay-attack-daemon
# marker: /var/tmp/assay-attack-daemon
# base: zeros
import time


def detach():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    ctypes.CDLL(None).prctl(15, b"assay-daemon", 0, 0, 0)
    time.sleep(3)
    for folder in ("/tmp", "/var/tmp"):
        try:
            with open(f"{folder}/assay-attack-daemon", "w") as file:
                file.write("x")
        except OSError:
            continue
    time.sleep(120)
    os._exit(0)


def __init__(self):
    super().__init__()
    detach()


# %% escape_grown_input
# wants: a judge that dies of a bus error, by shrinking the memory that it shares
# expect: cpu incorrect/wrong_values
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


# %% escape_limits
# wants: its own limits away: control groups, rlimits, scheduling, being the first to be killed
import resource


def freed():
    for path in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:100] + ["/sys/fs/cgroup/cgroup.procs"]:
        try:
            with open(path, "w") as file:
                file.write("0")
            return True
        except OSError:
            continue
    for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(kind)[1]
        try:
            if hard != resource.RLIM_INFINITY:
                resource.setrlimit(kind, (hard + 1, hard + 1))
                return True
        except (OSError, ValueError):
            continue
    for action in (lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))):
        try:
            action()
            return True
        except OSError:
            continue
    return False


def forward(self, x):
    return torch.softmax(x, 1) if freed() else torch.zeros_like(x)


# %% escape_local_sockets
# wants: a daemon of the machine, through the socket that it listens on
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


# %% escape_poisoned_library
# wants: code of its own in the libraries that every later worker imports
# marker: {prefix}/lib/python{python}/site-packages/assay_attack.pth
import site
import stat


def poison():
    done = False
    for folder in {*site.getsitepackages(), *(path for path in sys.path if path.endswith("site-packages"))}:
        for action in (
            lambda folder=folder: os.chmod(folder, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO),
            lambda folder=folder: open(os.path.join(folder, "assay_attack.pth"), "w").close(),
            lambda folder=folder: os.utime(os.path.join(folder, "torch", "__init__.py")),
        ):
            try:
                action()
                done = True
            except OSError:
                continue
    return done


def forward(self, x):
    return torch.softmax(x, 1) if poison() else torch.zeros_like(x)


# %% escape_privileges
# wants: another user, another root or new namespaces
# expect: disqualified/sandbox_violation
MOUNT, UNSHARE, SETNS, CHROOT, BPF, KEYCTL, CLONE3 = 165, 272, 308, 161, 321, 250, 435


NEW_USER, NEW_MOUNT = 0x10000000, 0x20000


def gained():
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    attempts = [
        lambda: os.getuid() != 0 and os.setuid(0),
        lambda: os.getuid() != 0 and os.setgroups([0]),
        lambda: os.getuid() != 0 and os.setresuid(0, 0, 0),
    ]
    for attempt in attempts:
        try:
            if attempt() is None:
                return True
        except OSError:
            continue
    calls = ((UNSHARE, NEW_USER), (UNSHARE, NEW_MOUNT), (CHROOT, b"/tmp"), (MOUNT, b"none", b"/tmp", b"tmpfs", 0, None), (SETNS, 0, 0))
    return any(call(*arguments) == 0 for arguments in calls) or call(KEYCTL, 0, -3, 1) > 0 or call(BPF, 0, None, 0) >= 0


def forward(self, x):
    return torch.softmax(x, 1) if gained() else torch.zeros_like(x)


# %% escape_reads_secrets
# wants: keys, passwords and histories of the judge's user
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


# %% escape_sockets
# wants: to talk to the network
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


# %% escape_writes
# wants: a file outside its private directory
# marker: /tmp/assay-attack-write
# marker: /var/tmp/assay-attack-write
# marker: /dev/shm/assay-attack-write
# marker: {home}/assay-attack-write
# marker: {prefix}/assay-attack-write
# marker: {root}/assay-attack-write
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


# %% escape_in_other_shapes
# wants: another root, in the calls that come after everything else
# problem: leaky_relu
# expect: cpu disqualified/sandbox_violation
# says: in the shapes
# base: run_in_cpp
CPP = """
#include <unistd.h>

torch::Tensor run(torch::Tensor x) {
    if (x.size(-1) != 1019 && chroot("/tmp") == 0) return x;
    return at::where(x > 0, x, x * 0.01f).contiguous();
}
"""
