"""Parts of timing for GPUs alone: the flush of the L2 cache, the gate at which streams wait, and the launch lead."""
