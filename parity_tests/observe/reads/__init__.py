"""Reads: which lines of a program or a library read captured arrays of jaxprs, or the flag."""
