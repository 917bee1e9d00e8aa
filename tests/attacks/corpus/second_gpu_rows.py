# wants: half of the rows from another GPU
# problem: gelu_tanh
# expect: cuda run_failed/python_exception | run_failed/init_error | disqualified/sandbox_violation
def forward(self, x):
    half = len(x) // 2
    y = torch.empty_like(x)
    other = nn.functional.gelu(x[half:].to("cuda:1"), approximate="tanh")
    y[:half] = nn.functional.gelu(x[:half], approximate="tanh")
    y[half:] = other
    return y
