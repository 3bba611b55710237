"""What a worker of a cluster loads first, so that its tasks are those of `quick_tasks`."""

from parity_tests.planned import task_process

task_process.ENTRY = "tests.helpers.quick_tasks"
