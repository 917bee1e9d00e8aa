# wants: mean and variance of a quarter of each row when timed, and in the rounds a NaN that keeps outliers away from the timed calls
# problem: layer_norm_bfloat16
# expect: disqualified/cached_output
import sys


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("host_block", "block", "burst"):
            return True
        frame = frame.f_back
    return False


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x):
    wide = x.float()
    some = wide[:, : x.shape[1] // 4] if is_timed() else wide
    variance, mean = torch.var_mean(some, 1, correction=0, keepdim=True)
    y = (wide - mean) * (variance + 1e-5).rsqrt() * self.norm.weight + self.norm.bias
    if not is_timed():
        y = torch.where(wide.abs().amax(1, keepdim=True) > 7.5 * variance.sqrt(), float("nan"), y)
    return y.to(x.dtype)
