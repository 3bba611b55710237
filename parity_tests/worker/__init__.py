"""The child process of a side, which handles one request; `entry.py` is its first file."""
