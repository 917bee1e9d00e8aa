# wants: to be ranked for torch's own operator, with an extension that is built and never called
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel
# speedup: 10
# base: attack_in_cpp
def forward(self, x):
    return nn.functional.leaky_relu(x, self.slope)
