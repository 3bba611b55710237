"""Reducing: a program that shows a difference, to the smallest that still shows the same one.

`jaxpr_to_draft` makes a `draft` of the program's jaxpr, with `held_values` for every variable.
`edits` and `pruning` make smaller drafts of it. `draft_to_python` and `stand_alone_file` write each
draft as a file, which has the text of `harness` in it. `reduce` runs that very file on both sides,
and `symptom` says whether it shows what the program showed. `search` puts the edits in order.

Where a program's forms part its jaxpr does not show it, and `source` cuts the program's own file.
`search` has the search in rounds of that, and of generated programs.
"""
