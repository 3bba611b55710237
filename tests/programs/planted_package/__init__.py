"""A package of programs; tests copy it to a folder of theirs and load it from there."""
