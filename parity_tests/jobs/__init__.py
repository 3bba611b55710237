"""Ready-made CI jobs: what a project is, the files that suit it, and what would change."""
