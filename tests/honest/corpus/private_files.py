# form: keeps a log, a tuning table in its home folder and a memory-mapped copy of its weight in a temporary file
# problem: embedding
# expect: correct/no_custom_kernel
import json
import logging
import tempfile
from pathlib import Path

import numpy
import torch
from torch import nn

FOLDER = Path(tempfile.mkdtemp(prefix="table-"))
CACHE = Path.home() / ".cache" / "tuning"
CACHE.mkdir(parents=True, exist_ok=True)
logging.basicConfig(filename=FOLDER / "log.txt", level=logging.DEBUG)


class ModelNew(nn.Module):
    def __init__(self, entries: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(entries, width)
        self.table: torch.Tensor | None = None

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        logging.debug("looking up %s", tuple(indices.shape))
        if self.table is None:
            weight = self.embedding.weight.detach()
            numpy.save(FOLDER / "weight.npy", weight.cpu().numpy())
            (CACHE / "shape.json").write_text(json.dumps(list(weight.shape)))
            self.table = torch.from_numpy(numpy.load(FOLDER / "weight.npy", mmap_mode="r+")).to(weight.device)
        return self.table[indices]
