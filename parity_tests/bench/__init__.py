"""The benchmark: five contestants on the same programs, in turns, each figure with its target.

A row is one file here: what its worker measures, and what the parent makes of the samples.
`rows.ROWS` is the list of them, and where a new row goes.
"""
