"""What a process of stock JAX loads: one file, which needs the standard library and pytest only."""
