"""The rows of the benchmark, one file each."""
