"""Why outputs are not bitwise equal: the cause, the first equation, the float64 arbiter."""
