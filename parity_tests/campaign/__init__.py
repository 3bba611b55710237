"""Planned campaigns: many programs, cut into tasks, run anywhere, each written to a store once.

Read in this order: `spec`, `plan`, `tasks`, then `scheduling`, which says what a runner owes. The
two runners are `task_process` and `cluster`; `parity_tests/cli/campaign.py` chooses one. `running`
is what happens inside the process of a task.
"""
