"""From evidence to a verdict: comparisons by declared rules, the conclusion, the flip verdict."""
