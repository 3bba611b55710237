"""Ready-made CI jobs: what a project is, the files that suit it, and what would change."""


class ProjectError(ValueError):
    """A job cannot be written for a project; the message says why and what to do."""
