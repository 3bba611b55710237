"""The scorecard of the flip: one program for each thing between JAX and a flipped default."""
