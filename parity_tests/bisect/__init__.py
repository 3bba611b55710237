"""Which site of a command is to blame: a switch in its processes, and a search around it.

The processes are the user's own; nothing is installed in them. Read in this order: `running` starts
the command with `startup/sitecustomize.py` on the path of Python; in each process `waiting` has
`switch` take the place of `jax.jit` once something imports JAX, and `children` names the lines that
start Python out of reach; `sites` is read by both ends, and imports the standard library alone;
`search` halves the sites, `bisecting` has both ends and the answer. `listing` is
`constparity sites`.
"""
