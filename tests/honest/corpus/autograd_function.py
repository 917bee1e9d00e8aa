# form: a torch.autograd.Function with a backward that is never asked for, run with gradients on
# problem: leaky_relu
# expect: correct/no_custom_kernel
class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, slope: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, x * slope)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, gradient, gradient * ctx.slope), None


def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.slope = nn.Parameter(torch.tensor(negative_slope))


@torch.enable_grad()
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return Bend.apply(x, float(self.slope)) + 0.0 * self.slope
