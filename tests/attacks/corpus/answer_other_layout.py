# wants: an answer in a layout of a library's own, which nobody has to convert
# problem: gelu_in_cache
# expect: cpu incorrect/wrong_structure
def forward(self, x):
    return nn.functional.gelu(x, approximate="tanh").to_mkldnn()
