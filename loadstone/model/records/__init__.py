"""What crosses a seam of the house, typed once: what a trial leaves in its files, what is read of replicas and nodes.

Each record is written and read by these models alone; what Go writes is checked against the same JSON Schema in a test
of its own. Records of earlier releases can be read: a field that they lack has its default.
"""
