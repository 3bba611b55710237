"""Work on constants alone, done once: what is moved into a preamble, and how it runs."""
