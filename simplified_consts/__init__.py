"""The simplified pipeline: captured arrays are Literals, hoisted as const args of each function."""
