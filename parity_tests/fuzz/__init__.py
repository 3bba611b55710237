"""Generated programs: recipes, a strategy that draws them, and the Python source of each.

A recipe is a tree of pieces (`recipe`), and each piece is one construct of a catalogue
(`catalogue`). `rendering` writes a recipe as the source of a Python module that needs
JAX and NumPy alone. That text is loaded from a file like any other target, so a failing program is
its own reproducer. `strategy` draws recipes and is the one module that needs Hypothesis.
`campaign` runs generated programs on sides, and keeps those that fail, made smaller.

Example::

    file.write_text(rendering.module({"program": recipe}))    # then: constparity run FILE:program
"""
