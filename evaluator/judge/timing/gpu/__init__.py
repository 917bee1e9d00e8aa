"""What only a GPU needs: the flush of its L2 cache, the gate that its streams wait at, and the launch lead."""
