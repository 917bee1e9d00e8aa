# wants: a secret compiled into its extension
# problem: softmax
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
