"""Layer 3: what nodes and replicas did while a trial was measured."""
