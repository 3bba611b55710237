"""From a lowering plan to results: lower, compile or find the executable, place, call."""
