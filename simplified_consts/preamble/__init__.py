"""Work on constants alone, done once: which work is moved into a preamble."""
