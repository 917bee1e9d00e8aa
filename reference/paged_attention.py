"""Attention of one new token of each sequence to a paged cache: a table says which pages hold a sequence, and how long each is.

Sequences are long and short, and fill the cache together: each page belongs to one. A row of the table ends with zeros.
"""

import torch
from torch import nn

batch_size = 32
heads = 32
groups = 8
width = 128
page = 16
pages = 256

ASSAY = {
    "description": "Decode attention over a paged cache with sequences of any length, in float16",
    "tags": ["attention", "inference", "paged", "workloads"],
    "level": 3,
    "source": "Kwon et al., PagedAttention, 2023",
    "dtype": "float16",
    # Scores that are rounded before exp() are honest; in bfloat16, four times as much would have room for eight bits.
    "tolerance": {"float16": 4.0, "float32": 4.0},
    "cases": {"full": {}, "small": {"batch_size": 3, "heads": 6, "groups": 2, "width": 32, "page": 4, "pages": 11}},
    # The last one has a table from a file: of eight sequences, five fill their rows, and three are short.
    "workloads": "paged_attention.jsonl",
    "generalisation": {"other": {"batch_size": 7, "heads": 16, "groups": 4, "width": 64, "pages": 37}},
    # Every page is somebody's. What is left of the last ones, less than half a page of a sequence, is far within the floor's margin.
    "floor": {"reads": [0, 1, 2, 4]},
}


class Model(nn.Module):
    def forward(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """(batch_size, heads, width), two caches of shape (all pages, page, groups, width), int64 (batch_size, most pages) and
        int64 (batch_size,) to (batch_size, heads, width). Position p of sequence b stands in page table[b, p / page], at p % page."""
        keys, values = (cache[table].flatten(1, 2).transpose(1, 2) for cache in (keys, values))
        known = torch.arange(keys.size(2), device=query.device) < lengths[:, None]
        queries = query.unflatten(1, (keys.size(1), -1))
        return nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=known[:, None, None]).flatten(1, 2)


def get_inputs() -> list[torch.Tensor]:
    cache = (batch_size * pages, page, groups, width)
    longer = torch.randint(-(pages // 2), pages // 2 + 1, (batch_size // 2,))
    counts = pages + torch.cat([longer, -longer, torch.zeros(batch_size % 2, dtype=torch.int64)])
    places = torch.arange(pages + pages // 2)
    numbers = torch.cat([torch.randperm(batch_size * pages), torch.zeros(pages, dtype=torch.int64)])
    table = numbers[(counts.cumsum(0) - counts)[:, None] + places] * (places < counts[:, None])
    lengths = page * counts - torch.randint(0, page, (batch_size,))
    return [torch.randn(batch_size, heads, width), torch.randn(cache), torch.randn(cache), table, lengths]


def vary_inputs(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> list[torch.Tensor]:
    """A table from a file, with its sequences in another order and in other pages: as much work, but a plan for the file's is wrong."""
    order, places = torch.randperm(len(lengths)), torch.randperm(len(keys))
    table, lengths = table[order], lengths[order]
    used = page * torch.arange(table.size(1)) < lengths[:, None]
    return [query, keys, values, places[table] * used, lengths]


def get_init_inputs() -> list[object]:
    return []
