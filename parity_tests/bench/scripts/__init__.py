"""Scripts that measure what `constparity bench` does not: exports, and the tester's own cost."""
