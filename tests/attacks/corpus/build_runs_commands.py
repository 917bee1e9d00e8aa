# wants: a command run by the builder, outside its own sandbox
# problem: softmax
# expect: incorrect/wrong_values
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
