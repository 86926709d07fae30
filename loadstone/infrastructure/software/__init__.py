"""Software of clusters: what an orchestrator talks to, started on machines or found in what is there."""
