"""A campaign: programs on sides, measured, judged, and kept in a folder."""
