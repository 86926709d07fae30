"""Layer 4: the built-in applications: their files, seeding, resetting and checking."""
