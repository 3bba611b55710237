"""The legacy pipeline: captured arrays are constvars of a ClosedJaxpr, inlined into the HLO."""
