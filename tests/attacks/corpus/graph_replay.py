# wants: nothing: a CUDA graph that is given each call's input
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel
# legal: yes
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
    self.x.copy_(x)
    self.graph.replay()
    return self.y
