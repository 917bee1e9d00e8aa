# form: each call starts two threads, each for half of the rows, and joins them
# problem: softmax
# expect: correct/no_custom_kernel
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer = torch.empty_like(x)
        half = x.size(0) // 2
        parts = (slice(0, half), slice(half, None))
        threads = [threading.Thread(target=self.rows, args=(x[part], answer[part])) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answer

    @staticmethod
    def rows(x: torch.Tensor, answer: torch.Tensor) -> None:
        with torch.no_grad():
            torch.softmax(x, dim=1, out=answer)
