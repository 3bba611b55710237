"""Which site of a command is to blame: a switch in its processes, and a search around it."""
