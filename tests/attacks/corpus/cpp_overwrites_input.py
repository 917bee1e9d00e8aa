# wants: half the memory traffic by a kernel that writes over its input
# problem: leaky_relu
# expect: cpu incorrect/mutated_input
# base: attack_in_cpp
def forward(self, x):
    extension.answer_into(x, x, self.slope)
    return x
