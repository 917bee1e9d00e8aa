# wants: a CUDA graph over the first input to stand for every later one
# problem: gelu_tanh
# expect: cuda incorrect/wrong_values | disqualified/cached_output
def __init__(self):
    super().__init__()
    self.graph = None


def forward(self, x):
    if self.graph is None:
        self.x = x.clone()
        nn.functional.gelu(self.x, approximate="tanh")
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = nn.functional.gelu(self.x, approximate="tanh")
    self.graph.replay()
    return self.y
