# wants: timed calls without the backward pass, by an automatic differentiation of its own
# problem: rms_norm_backward
# expect: disqualified/cached_output
import sys

honest = torch.autograd.grad


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and request.get("kind") not in ("call", None):
            return True
        frame = frame.f_back
    return False


def sometimes(outputs, inputs, *args, **kwargs):
    return [torch.empty_like(each) for each in inputs] if is_timed() else honest(outputs, inputs, *args, **kwargs)


torch.autograd.grad = sometimes


def __init__(self, dim):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=1e-6)


def forward(self, x):
    return self.norm(x)
