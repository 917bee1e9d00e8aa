# form: one launch for each of many pieces of the input
# problem: gelu_tanh
# expect: cuda correct/ok
# base: gelu_in_cuda
def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    for given, part in zip(x.chunk(64), answer.chunk(64), strict=True):
        extension.gelu_into(given, part, torch.cuda.current_stream().cuda_stream)
    return answer
