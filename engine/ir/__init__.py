"""The vocabulary of jaxprs, and the rewritings that both pipelines use."""
