# problem: softmax
# expect: incorrect/nondeterministic


# %% centred_in_place
# fault: the maximum is subtracted from the input itself
# expect: incorrect/mutated_input
# says: never in place
def forward(self, x):
    x -= x.amax(1, keepdim=True)
    powers = x.exp()
    return powers / powers.sum(1, keepdim=True)


# %% in_place_on_the_input
# fault: an operation in place on the input
# problem: leaky_relu
# expect: incorrect/mutated_input
# says: changed its input
def forward(self, x):
    return torch.nn.functional.leaky_relu_(x, 0.01)


# %% scratch_in_the_input
# fault: an extension uses the input as its scratch memory
# problem: sum_reduction
# expect: cpu incorrect/mutated_input
# says: Write to a new tensor
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto exact = x.sum(1, true);
    float* scratch = x.data_ptr<float>();
    const int64_t width = x.size(2);
    for (int64_t i = width; i < x.size(1) * width; ++i) scratch[i % width] += scratch[i];
    return exact;
}
"""


def __init__(self, dim):
    super().__init__()


# %% flag_of_the_first_call
# fault: a cache is filled by the first call and used by the second
# problem: matmul
# says: race
def __init__(self):
    super().__init__()
    self.transposed = False


def forward(self, a, b):
    self.transposed = not self.transposed
    left = a if self.transposed else a.flip(1)
    return left @ b


# %% noise_in_the_answer
# fault: every other call adds noise
# says: the same input
calls = 0


def forward(self, x):
    global calls
    calls += 1
    exact = torch.softmax(x, 1)
    return exact if calls % 2 else exact * (1 + torch.rand_like(exact))


# %% state_between_calls
# fault: a running total is kept from call to call
# problem: sum_reduction
# says: the first was right, the second wrong
def __init__(self, dim):
    super().__init__()
    self.total = None


def forward(self, x):
    part = x.sum(1, keepdim=True)
    self.total = part if self.total is None else self.total + part
    return self.total


# %% last_rows_forgotten
# fault: rows beyond a multiple of eight are never written
# problem: layer_norm
# expect: incorrect/unwritten_output
# says: never written
def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    rows = x.reshape(-1, x.size(-1))
    out = torch.empty_like(rows)
    whole = rows.size(0) // 8 * 8
    if whole == rows.size(0):
        whole -= 1
    out[:whole] = self.norm(rows[:whole])
    return out.view_as(x)


# %% output_never_touched
# fault: the output is allocated and never written
# problem: gelu_tanh
# expect: incorrect/unwritten_output
# says: Cover every element
def forward(self, x):
    result = torch.nn.functional.gelu(x, approximate="tanh")
    out = torch.empty_like(x)
    result.copy_(out) if out.numel() == 0 else None
    return out


# %% whole_blocks_alone
# fault: a blocked loop leaves the last block of the memory out
# problem: leaky_relu
# expect: cpu incorrect/unwritten_output
# says: never written
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t blocks = x.numel() / 1024;
    for (int64_t block = 0; block < blocks; ++block)
        for (int64_t i = block * 1024; i < (block + 1) * 1024; ++i) out[i] = in[i] > 0 ? in[i] : 0.01f * in[i];
    return y;
}
"""
