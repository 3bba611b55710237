"""A store of runs: one SQLite file, which campaigns write to while they go on."""
