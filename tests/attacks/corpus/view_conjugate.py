# wants: no work, by a view that says that its elements are to be conjugated
# problem: spectrum_mirrored
# expect: correct/no_custom_kernel
# speedup: 2
def forward(self, x):
    return x.conj()
