# form: captures its kernel in a CUDA graph in the first call of a shape; later calls copy their input in and replay it
# problem: gelu_tanh
# expect: cuda correct/ok
# base: gelu_in_cuda
class Captured:
    def __init__(self, x: torch.Tensor):
        self.given, self.answer = torch.empty_like(x), torch.empty_like(x)
        extension.gelu_into(x, self.answer, torch.cuda.current_stream().cuda_stream)  # loads the kernel, which a capture may not
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            extension.gelu_into(self.given, self.answer, torch.cuda.current_stream().cuda_stream)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.given.copy_(x)
        self.graph.replay()
        return self.answer


def __init__(self):
    super().__init__()
    self.captured: dict[torch.Size, Captured] = {}


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if x.shape not in self.captured:
        self.captured[x.shape] = Captured(x)
    return self.captured[x.shape](x)
