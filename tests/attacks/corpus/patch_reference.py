# wants: a reference that computes what the submission does, by patching the operators that it calls
# problem: softmax
# expect: incorrect/wrong_values
# base: zeros
import sys


def zeros(x, *_, **__):
    return torch.zeros_like(x)


torch.softmax = torch.Tensor.softmax = nn.functional.softmax = nn.Softmax.forward = zeros


for module in list(sys.modules.values()):
    model = getattr(module, "Model", None)
    if isinstance(model, type):
        model.forward = lambda self, x: torch.zeros_like(x)
