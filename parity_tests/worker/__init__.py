"""The child process of a side: `python -m parity_tests.worker REQUEST` handles one request."""
