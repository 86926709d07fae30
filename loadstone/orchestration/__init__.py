"""Layer 2: places replicas on nodes and proves that they got what they were promised."""
