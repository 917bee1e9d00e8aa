# problem: matmul
# expect: incorrect/wrong_dtype


# %% allocates_on_meta
# fault: its output is allocated where nothing is stored
# expect: run_failed/wrong_device
# says: device of the inputs
def forward(self, a, b):
    return torch.empty(a.size(0), b.size(1), device="meta")


# %% computes_on_the_host
# fault: it computes on the CPU and leaves the answer there
# problem: softmax
# expect: cuda run_failed/wrong_device
# says: is on cpu
def forward(self, x):
    return torch.softmax(x.cpu(), 1)


# %% sends_its_answer_away
# fault: its answer is on another device
# problem: gelu_tanh
# expect: run_failed/wrong_device
# says: meta
def forward(self, x):
    return torch.nn.functional.gelu(x, approximate="tanh").to("meta")


# %% answers_in_double
# fault: it computes in double and stays there
# problem: softmax
# says: float64
def forward(self, x):
    wide = x.double()
    return (wide - wide.amax(1, keepdim=True)).softmax(1)


# %% answers_in_half
# fault: its output is float16
# says: float16
def forward(self, a, b):
    out = torch.empty(a.size(0), b.size(1), dtype=torch.float16, device=a.device)
    out.copy_(a @ b)
    return out


# %% narrow_indices
# fault: indices as int32
# problem: topk
# says: int32
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x, self.k, dim=1)
    return values, indices.to(torch.int32)


# %% flattened
# fault: the output is flat
# problem: layer_norm
# expect: incorrect/wrong_shape
# says: never broadcast
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    return self.norm(x).flatten(0, 1)


# %% padded_to_whole_blocks
# fault: rows are padded to whole blocks, and the padding is returned
# problem: gelu_tanh
# expect: cpu incorrect/wrong_shape
# says: (31, 1024)
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    const int64_t padded = (x.size(1) + 255) / 256 * 256;
    auto wide = torch::constant_pad_nd(x, {0, padded - x.size(1)}, 0);
    return torch::gelu(wide, "tanh");
}
"""


# %% without_the_kept_dimension
# fault: the reduced dimension is dropped
# problem: sum_reduction
# expect: incorrect/wrong_shape
# says: shape
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x.sum(self.dim)


# %% answer_and_statistics
# fault: it returns its mean and deviation too
# problem: layer_norm
# expect: incorrect/wrong_structure
# says: a tensor
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    return {"out": self.norm(x), "mean": x.mean(-1), "deviation": x.std(-1)}


# %% answers_nothing
# fault: forward() has no return
# problem: leaky_relu
# expect: incorrect/wrong_structure
# says: None
def forward(self, x):
    out = torch.empty_like(x)
    torch.maximum(x, 0.01 * x, out=out)


# %% values_alone
# fault: one of two outputs is missing
# problem: topk
# expect: incorrect/wrong_structure
# says: a tuple of 2
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    return torch.topk(x, self.k, dim=1).values
