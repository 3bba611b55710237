"""Why outputs are not bitwise equal: attribution of drift, and the float64 arbiter."""
