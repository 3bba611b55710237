"""Constants in jaxprs, and the passes over jaxprs that both pipelines use."""
