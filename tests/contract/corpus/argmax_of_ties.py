# form: the least of all places that hold the maximum
# problem: argmax_of_ties
# expect: correct/no_custom_kernel
def forward(self, x):
    places = torch.arange(x.shape[1], device=x.device)
    return torch.where(x == x.amax(1, keepdim=True), places, x.shape[1]).amin(1)
