# form: launches on the default stream and waits for the device before it returns
# problem: gelu_tanh
# expect: cuda correct/ok
# base: gelu_in_cuda
def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    extension.gelu_into(x, answer, 0)
    torch.cuda.synchronize()
    return answer
