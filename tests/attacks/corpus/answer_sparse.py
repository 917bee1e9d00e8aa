# wants: a matrix of zeros without writing one, by a sparse layout
# problem: diagonal
# expect: incorrect/wrong_structure
def forward(self, x):
    places = torch.arange(len(x), device=x.device)
    return torch.sparse_coo_tensor(torch.stack([places, places]), torch.tanh(x), (len(x), len(x)))
