# fault: it imports a name that PyTorch does not have
# problem: gelu_tanh
# expect: run_failed/import_error
# says: cannot import name 'fused_gelu'
try:
    import nothing_of_the_kind
except ImportError:
    from torch.nn.functional import fused_gelu  # HERE


def forward(self, x):
    return fused_gelu(x)
