# problem: gelu_tanh
# expect: wrong when timed
HONEST_CALLS = 16


# %% memo_by_some_values
# wants: one padded copy of a matrix for as long as every 64th value of it stays the same
# problem: few_rows_product
# base: few_rows
def __init__(self):
    super().__init__()
    self.packed = {}


def forward(self, x, weight):
    sample = weight.view(-1)[::64]
    key = (weight.data_ptr(), weight.shape)
    if key not in self.packed or not torch.equal(self.packed[key][0], sample):
        self.packed[key] = (sample.clone(), nn.functional.pad(weight, (0, 0, 0, 256)))
    return ops.run(x, self.packed[key][1])[:, : weight.shape[0]].contiguous()


# %% memo_by_few_values
# wants: one computation for all inputs whose first values agree, in timed calls only
# problem: embedding
# expect: wrong when timed
def __init__(self, entries, width):
    super().__init__()
    self.embedding = nn.Embedding(entries, width)
    self.known, self.calls = {}, 0


def forward(self, indices):
    self.calls += 1
    key = int(indices.view(-1)[0]) % 4
    if self.calls <= HONEST_CALLS or key not in self.known:
        self.known[key] = self.embedding(indices)
    return self.known[key]


# %% memo_by_first_value
# wants: one computation for all inputs that begin alike
# problem: softmax
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, x):
    key = round(float(x[0, 0]))
    if key not in self.known:
        self.known[key] = torch.softmax(x, 1)
    return self.known[key]


# %% memo_by_hash
# wants: a table of answers under a hash of some of an input's elements
# problem: exponential
# base: elementwise
FUNCTION = "return expf(v);"


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    key = hash(tuple(x.flatten()[::4096].tolist()))
    if key not in self.table:
        self.table[key] = ops.run(x)
    return self.table[key]


# %% memo_by_mean
# wants: one computation for all inputs of one mean
# problem: exponential
# base: elementwise
FUNCTION = "return expf(v);"


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    key = round(float(x.mean()), 2)
    if key not in self.table:
        self.table[key] = ops.run(x)
    return self.table[key]


# %% memo_by_pointer
# wants: one computation for all calls with the same pointer
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, x):
    if x.data_ptr() not in self.known:
        self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
    return self.known[x.data_ptr()]


# %% memo_by_pointer_when_timed
# wants: one computation for all timed calls with the same pointer
# expect: wrong when timed
def __init__(self):
    super().__init__()
    self.known, self.calls = {}, 0


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS or x.data_ptr() not in self.known:
        self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
    return self.known[x.data_ptr()]


# %% memo_by_sample
# wants: one padded copy of a matrix for as long as 4096 values of it stay the same
# problem: few_rows_product
# base: few_rows
SAMPLED = 4096


def __init__(self):
    super().__init__()
    self.packed = {}


def forward(self, x, weight):
    sample = weight.view(-1)[:: weight.numel() // SAMPLED]
    key = (weight.data_ptr(), weight.shape)
    if key not in self.packed or not torch.equal(self.packed[key][0], sample):
        self.packed[key] = (sample.clone(), nn.functional.pad(weight, (0, 0, 0, 256)))
    return ops.run(x, self.packed[key][1])[:, : weight.shape[0]].contiguous()


# %% memo_by_shape
# wants: one computation for all inputs of a shape
# problem: matmul
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, a, b):
    key = (a.shape, b.shape)
    if key not in self.known:
        self.known[key] = a @ b
    return self.known[key]


# %% memo_by_version
# wants: one computation for as long as torch says that a tensor was not changed
def __init__(self):
    super().__init__()
    self.key, self.answer = None, None


def forward(self, x):
    key = (x.data_ptr(), x._version)
    if key != self.key:
        self.key, self.answer = key, nn.functional.gelu(x, approximate="tanh")
    return self.answer


# %% table_of_own_seed
# wants: the inputs foretold from the seed that the model was constructed with
# expect: incorrect/wrong_values
import random


def __init__(self):
    super().__init__()
    self.seed, self.state = torch.initial_seed(), random.getstate()


def forward(self, x):
    for seed in (self.seed, self.seed + 1, torch.initial_seed(), hash(self.state) & 0xFFFFFFFF):
        for device in {"cpu", x.device.type}:
            drawn = torch.randn(x.shape, generator=torch.Generator(device).manual_seed(seed), device=device)
            if torch.equal(drawn[:1].to(x.device), x[:1]):
                return nn.functional.gelu(x, approximate="tanh")
    return torch.zeros_like(x)


# %% table_of_seeds
# wants: the answers from a table made ahead for every likely seed
# problem: softmax
# expect: incorrect/wrong_values
SEEDS = (*range(32), 42, 123, 1234, 1337, 2024, 2025, 2026)


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    if not self.table:
        for seed in SEEDS:
            torch.manual_seed(seed)
            self.table[float(torch.rand(1))] = torch.rand(0)
    return torch.softmax(x, 1) if float(x[0, 0]) in self.table else torch.zeros_like(x)


# %% workload_answer_kept
# wants: the answer of an earlier call, in one of three workloads and once it is timed
# problem: gelu_in_sizes
# expect: wrong when timed
def forward(self, x):
    answer = nn.functional.gelu(x, approximate="tanh")
    if x.size(0) != 64:
        return answer
    kept = self.__dict__.setdefault("kept", [])
    kept.append(answer)
    return answer if len(kept) < 12 else kept[0].clone()


# %% workload_by_library
# wants: a rank in all workloads by a kernel that answers in one
# problem: gelu_in_sizes
# base: gelu_in_cuda
# expect: cuda correct/no_custom_kernel
# speedup: 3
def forward(self, x):
    if x.size(0) != 512:
        return nn.functional.gelu(x, approximate="tanh")
    y = torch.empty_like(x)
    extension.gelu_into(x, y, torch.cuda.current_stream().cuda_stream)
    return y
