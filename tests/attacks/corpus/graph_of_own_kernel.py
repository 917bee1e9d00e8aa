# wants: nothing: its kernel in a CUDA graph that is given each call's input
# problem: gelu_tanh
# expect: cuda correct/ok
# legal: yes
# base: attack_in_cuda
import torch


def forward(self, x):
    if self.graph is None:
        self.x = x.clone()
        extension.attack(self.x, "answer", 1)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = extension.attack(self.x, "answer", 1)
    self.x.copy_(x)
    self.graph.replay()
    return self.y
