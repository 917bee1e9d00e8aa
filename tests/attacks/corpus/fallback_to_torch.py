# wants: to be ranked for torch's own operator, after its kernel did not build
# problem: softmax
# expect: correct/no_custom_kernel
# speedup: 10
# base: extension
try:
    extension = load_inline(name="assay_attack_fallback", cpp_sources="#error no kernel", functions=["answer"])
except RuntimeError:
    extension = None


def forward(self, x):
    try:
        return extension.answer(x)
    except AttributeError:
        return torch.softmax(x, 1)
