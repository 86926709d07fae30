"""Layer 1: the nodes that everything runs on, and the limits that the kernel holds them to."""
