"""The benchmark: five contestants on the same programs, in turns, each figure with its target.

A row is one file of `rows`: it measures in the process of a contestant, and judges the samples of
all contestants in the parent. A new row is a new file there.
"""
