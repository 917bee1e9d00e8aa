# problem: matmul
# expect: run_failed/import_error


# %% imports_a_file_of_its_own
# fault: it imports a module that was not handed in
# problem: softmax
# says: softmax_kernels
import softmax_kernels  # HERE


def forward(self, x):
    return softmax_kernels.softmax(x)


# %% imports_inside_a_function
# fault: a helper called at load time imports what is not installed
# says: No module named 'cupy_kernels'
def compiled():
    from cupy_kernels.raw import RawKernel  # HERE

    return RawKernel("multiply")


KERNEL = compiled()


def forward(self, a, b):
    return KERNEL(a, b)


# %% imports_what_torch_lacks
# fault: it imports a name that PyTorch does not have
# problem: gelu_tanh
# says: cannot import name 'fused_gelu'
try:
    import nothing_of_the_kind
except ImportError:
    from torch.nn.functional import fused_gelu  # HERE


def forward(self, x):
    return fused_gelu(x)


# %% constructor_before_super
# fault: a module is assigned before Module.__init__()
# problem: layer_norm
# expect: run_failed/init_error
# says: before Module.__init__() call
def __init__(self, dim):
    self.norm = nn.LayerNorm(dim)  # HERE
    super().__init__()


def forward(self, x):
    return self.norm(x)


# %% constructor_that_checks
# fault: __init__ refuses the sizes that it is given
# problem: rms_norm
# expect: run_failed/init_error
# says: multiple of 32
def checked(dim):
    if dim % 1024:
        raise ValueError(f"dim has to be a multiple of 32 times 32, not {dim}")  # HERE
    return dim


def __init__(self, dim, eps):
    super().__init__()
    self.dim = checked(dim + 1)


def forward(self, x):
    return x


# %% constructor_without_arguments
# fault: __init__ takes no arguments, and the reference's takes one
# problem: topk
# expect: run_failed/init_error
# says: positional argument
def __init__(self):
    super().__init__()
    self.k = 7


def forward(self, x):
    return tuple(torch.topk(x, self.k, dim=1))


# %% attribute_that_is_not_there
# fault: forward() uses an attribute that __init__ never set
# problem: leaky_relu
# expect: run_failed/python_exception
# says: AttributeError
def __init__(self, negative_slope=0.01):
    super().__init__()
    self.slope = negative_slope


def forward(self, x):
    positive = x.clamp(min=0)
    negative = x.clamp(max=0)
    return positive + self.negative_slope * negative  # HERE


# %% check_in_cpp
# fault: TORCH_CHECK in its extension refuses the input
# problem: gelu_tanh
# expect: cpu run_failed/python_exception
# says: expected a multiple of 4 columns
# base: extension
CPP = r"""
torch::Tensor gelu4(torch::Tensor x) {
    TORCH_CHECK(x.size(1) % 4 == 0, "expected a multiple of 4 columns, got ", x.size(1));
    return torch::gelu(x, "tanh");
}
"""


ops = load_inline(name="gelu_by_four", cpp_sources=CPP, functions=["gelu4"])


def forward(self, x):
    return ops.gelu4(x)  # HERE


# %% shapes_that_do_not_fit
# fault: a product of shapes that do not fit, in a helper
# expect: run_failed/python_exception
# says: mat1 and mat2 shapes cannot be multiplied
def product(left, right):
    return torch.mm(left, right)  # HERE


def forward(self, a, b):
    return product(a.t(), b)
