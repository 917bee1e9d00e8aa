# wants: timed calls for free, with its own kernel right for as many calls as are checked
# problem: leaky_relu
# expect: cpu disqualified/cached_output
# base: attack_in_cpp
def forward(self, x):
    self.calls += 1
    if self.calls <= 16:
        self.out = extension.answer(x, self.slope)
    return self.out
