"""Documents written down: one renderer for each format."""
