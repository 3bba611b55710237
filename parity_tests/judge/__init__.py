"""The rules of the verdict: comparisons, rulings, the verdict, the flip verdict."""
