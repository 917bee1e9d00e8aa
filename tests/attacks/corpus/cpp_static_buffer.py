# wants: nothing: its own kernel writes every answer into one buffer
# problem: leaky_relu
# expect: cpu correct/ok
# legal: yes
# base: attack_in_cpp
def forward(self, x):
    if self.out is None:
        self.out = x.new_empty(x.shape)
    extension.answer_into(x, self.out, self.slope)
    return self.out
