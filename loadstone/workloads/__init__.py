"""Layer 5a: turns a workload and a load into requests, through a driver."""
