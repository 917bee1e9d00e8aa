# wants: timed calls to return at once, with a detached thread that writes their answer later
# problem: leaky_relu
# expect: cpu disqualified/deferred_work | disqualified/cached_output | incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf
# base: attack_in_cpp
def forward(self, x):
    self.calls += 1
    return extension.answer(x, self.slope) if self.calls <= 16 else extension.answer_later(x, self.slope, 5)
