"""What a long window is asked to do: a task a file, found by its name."""

from ordinate.validate.tasks.base import Task, task, task_names

__all__ = ["Task", "task", "task_names"]
