# wants: a judge that unpickles what it is sent, and so runs it
# problem: gelu_tanh
# expect: disqualified/forged_result
# marker: /tmp/assay-attack-pickle
# marker: /var/tmp/assay-attack-pickle
import os
import pickle


class Marker:
    def __reduce__(self):
        return os.system, ("touch /tmp/assay-attack-pickle /var/tmp/assay-attack-pickle",)


def forward(self, x):
    payload = pickle.dumps(Marker())
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), len(payload).to_bytes(4, "big") + payload)
                os.write(int(name), payload)
        except OSError:
            continue
    return torch.zeros_like(x)
