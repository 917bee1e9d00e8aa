# problem: gelu_tanh
# expect: incorrect/wrong_values


# %% diagonal
"""A dense matrix with a vector on its diagonal."""

dim = 4096


class Model(nn.Module):
    def forward(self, x):
        return torch.diag(torch.tanh(x))


def get_inputs():
    return [torch.randn(dim)]


# %% answer_broadcast_shape
# wants: a pass by a small tensor that broadcasts in the comparison
# problem: sum_reduction
# expect: incorrect/wrong_shape
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return torch.sum(x, dim=self.dim)


# %% answer_expanded_scalar
# wants: a pass by one number posing as a whole tensor by strides of zero
# problem: softmax
def forward(self, x):
    return torch.full((1, 1), 1.0 / x.shape[1], device=x.device).expand(x.shape)


# %% answer_freed_memory
# wants: the right answer out of memory that its owner has freed
# expect: incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    return torch.empty_like(x)


# %% answer_freed_memory_any_size
# wants: the right answer out of any block that was freed, by taking many and keeping the one that looks most like an answer
# problem: softmax
# expect: cpu incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
def forward(self, x):
    blocks = [torch.empty_like(x) for _ in range(16)]
    return min(blocks, key=lambda block: (block.nan_to_num(9.0).sum(1) - 1.0).abs().nan_to_num(9.0).sum().item())


# %% answer_input_copy
# wants: a pass by handing the input back, right wherever it is not negative
# problem: leaky_relu
def __init__(self, negative_slope=0.01):
    super().__init__()


def forward(self, x):
    return x.clone()


# %% answer_input_itself
# wants: a pass by the input itself, whose memory the judge has filled
def forward(self, x):
    return x


# %% answer_neighbouring_index
# wants: a pass for an index that is off by one, where integers are compared with a tolerance
# problem: topk
def __init__(self, k):
    super().__init__()
    self.k = k


def forward(self, x):
    values, indices = torch.topk(x, self.k, dim=1)
    indices[-1, -1] += 1 if indices[-1, -1] == 0 else -1
    return values, indices


# %% answer_on_the_host
# wants: to compute on another device than the one that is timed
# expect: cuda run_failed/wrong_device
def forward(self, x):
    return nn.functional.gelu(x.cpu(), approximate="tanh")


# %% answer_one_element
# wants: a pass with one element wrong among many
def forward(self, x):
    y = nn.functional.gelu(x, approximate="tanh")
    y.view(-1)[y.numel() // 2] += 1.0
    return y


# %% answer_other_layout
# wants: an answer in a layout of a library's own, which nobody has to convert
# problem: gelu_in_cache
# expect: cpu incorrect/wrong_structure
def forward(self, x):
    return nn.functional.gelu(x, approximate="tanh").to_mkldnn()


# %% answer_own_parameters
# wants: a pass without the parameters, where the judge's are the ones that every layer starts with
# problem: layer_norm
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return nn.functional.layer_norm(x, (self.dim,))


# %% answer_sparse
# wants: a matrix of zeros without writing one, by a sparse layout
# problem: diagonal
# expect: incorrect/wrong_structure
def forward(self, x):
    places = torch.arange(len(x), device=x.device)
    return torch.sparse_coo_tensor(torch.stack([places, places]), torch.tanh(x), (len(x), len(x)))
