"""What conducts the layers: plans, the capacity search, the trial's life cycle, verdicts and the ledger.

Decisions (which trial is next, did it hold) are pure functions of data, so that they can be tested against truth
tables and a killed run resumes by replaying its history. Only the conductor touches the world, and it does so through
the layers' small abstract classes: it does not know which orchestrator it has.
"""
