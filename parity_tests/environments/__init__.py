"""Virtual environments of other JAX versions: made on request, kept, listed and removed."""
