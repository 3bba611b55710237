"""The file of a hoisted export: its container, its manifest, how it is written and read."""
