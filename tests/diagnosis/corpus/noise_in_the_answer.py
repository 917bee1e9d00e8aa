# fault: every other call adds noise
# problem: softmax
# expect: incorrect/nondeterministic
# says: the same input
calls = 0


def forward(self, x):
    global calls
    calls += 1
    exact = torch.softmax(x, 1)
    return exact if calls % 2 else exact * (1 + torch.rand_like(exact))
