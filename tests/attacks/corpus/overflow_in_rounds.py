# wants: mean and variance of a quarter of each row when timed, and in the rounds a NaN that keeps outliers away from the timed calls
# problem: layer_norm_bfloat16
# expect: cpu disqualified/cached_output | correct/no_custom_kernel
# expect: cuda disqualified/cached_output
# speedup: 0.2
# On a crowded CPU its costly rounds may count as very slow. Then it computes PyTorch's answer in every call, at this price.
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
    if not is_timed():
        usual = x[:, :4096].float().std(1, keepdim=True)
        return torch.where(x.abs().amax(1, keepdim=True) > 7.5 * usual, float("nan"), self.norm(x))
    wide = x.float()
    variance, mean = torch.var_mean(wide[:, : x.shape[1] // 4], 1, correction=0, keepdim=True)
    return ((wide - mean) * (variance + 1e-5).rsqrt() * self.norm.weight + self.norm.bias).to(x.dtype)
