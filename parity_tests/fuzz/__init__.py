"""Generated programs: a recipe, the text of a module that follows it, a strategy for recipes.

A recipe is a tree of steps (`recipe`), each of which is one construct of a catalogue
(`operations`, `bodies`). `rendering` writes it as the source of a Python module that needs JAX and
NumPy alone: what runs is that text, loaded from a file like any other target, so a failing program
is its own reproducer. `strategy` draws recipes with Hypothesis and is the one module that needs it;
`reduction` makes a recipe smaller without it.

    file.write_text(rendering.module([recipe]))    # then: constparity run FILE
"""
