# form: returns a transposed view: the product of the transposed factors, in the other order
# problem: matmul
# expect: correct/no_custom_kernel
def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (b.t().contiguous() @ a.t().contiguous()).t()
