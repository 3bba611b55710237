"""What a worker of a cluster loads first, so that its tasks are those of `quick_tasks`."""

import os

from parity_tests.campaign import task_process

task_process.ENTRY = "tests.helpers.quick_tasks"
if "QUICK_START_SECONDS" in os.environ:
    task_process.START_SECONDS = float(os.environ["QUICK_START_SECONDS"])
