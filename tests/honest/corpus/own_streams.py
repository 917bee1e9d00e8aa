# form: two streams of its own, each for half of the rows, which wait for the caller's and for which the caller's waits
# problem: gelu_tanh
# expect: cuda correct/ok
# base: gelu_in_cuda
def __init__(self):
    super().__init__()
    self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    current = torch.cuda.current_stream()
    for stream, given, part in zip(self.streams, x.chunk(2), answer.chunk(2), strict=True):
        stream.wait_stream(current)
        extension.gelu_into(given, part, stream.cuda_stream)
    for stream in self.streams:
        current.wait_stream(stream)
    return answer
