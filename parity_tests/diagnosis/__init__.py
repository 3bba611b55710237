"""The diagnosis of an installation: versions, flags, sides, private names, extras."""
