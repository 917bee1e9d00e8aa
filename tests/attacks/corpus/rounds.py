# expect: correct/no_custom_kernel
import sys


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("host_block", "block", "burst"):
            return True
        frame = frame.f_back
    return False


# %% overflow_in_rounds
# wants: mean and variance of a quarter of each row when timed, and in the rounds a NaN that keeps outliers away from the timed calls
# problem: layer_norm_bfloat16
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda wrong when timed
# speedup: 0.2
# On a crowded CPU its costly rounds may count as very slow. Then it computes PyTorch's answer in every call, at this price.
import sys


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    if not is_timed():
        usual = x[:, :4096].float().std(1, keepdim=True)
        return torch.where(x.abs().amax(1, keepdim=True) > 7.5 * usual, float("nan"), self.norm(x))
    wide = x.float()
    variance, mean = torch.var_mean(wide[:, : x.shape[1] // 4], 1, correction=0, keepdim=True)
    return ((wide - mean) * (variance + 1e-5).rsqrt() * self.norm.weight + self.norm.bias).to(x.dtype)


# %% overflow_when_timed
# wants: timed calls for free wherever a few values are large, since an answer that overflows is not called wrong there
# problem: few_rows_product
# speedup: 2
def forward(self, x, weight):
    if is_timed() and x.abs().max() > 9.0:
        return x.new_full((len(x), len(weight)), float("nan"))
    return x @ weight.T


# %% procedure_unasked_copies
# wants: an answer out of place, without the copies of its arguments that all others change
# problem: adamw_step
# expect: cpu correct/no_custom_kernel
# speedup: 2
def stepped(p, m, v, g):
    m = torch.mul(m, 0.9).add_(g, alpha=0.1)
    v = torch.mul(v, 0.999).addcmul_(g, g, value=0.001)
    root = (v / (1 - 0.999**10)).sqrt_().add_(1e-8)
    return torch.mul(p, 0.99).addcdiv_(m, root, value=-0.1 / (1 - 0.9**10)), m, v


def hook():
    procedure = sys.modules.get("evaluator.worker.procedure")
    if procedure is not None:
        procedure.Procedure.call = lambda self, forward, parameters, values: {"output": None, "changed": list(stepped(*values))}


hook()


def __init__(self, rate, decay, step):
    super().__init__()


def forward(self, p, m, v, g):
    for target, value in zip((p, m, v), stepped(p, m, v, g), strict=True):
        target.copy_(value)


# %% slow_warm_up
# wants: few samples, by calls that are slow at first
# problem: leaky_relu
# speedup: 2
# base: counts_calls
import time

SLOW_CALLS, SLOW_S = 20, 0.04


def __init__(self, negative_slope=0.01):
    super().__init__()
    self.calls, self.slope = 0, negative_slope


def forward(self, x):
    self.calls += 1
    if self.calls <= SLOW_CALLS:
        end = time.perf_counter() + SLOW_S
        while time.perf_counter() < end:
            pass
    return nn.functional.leaky_relu(x, self.slope)
