# form: returns a tensor whose conjugation torch has only noted down
# problem: spectrum
# expect: correct/no_custom_kernel
def forward(self, x: torch.Tensor) -> torch.Tensor:
    backwards = torch.fft.ifft(x, dim=1, norm="forward")
    return backwards[:, : x.size(1) // 2 + 1].conj()
