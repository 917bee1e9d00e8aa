# fault: an iteration whose tolerance is never met
# problem: softmax
# expect: run_failed/timeout
# says: forward() did not end within
def forward(self, x):
    estimate = torch.zeros_like(x)
    exact = torch.softmax(x, 1)
    while (estimate - exact).abs().max() > -1:
        estimate = estimate + 0.5 * (exact - estimate)
    return estimate
