"""Products by tile instructions (AMX): the panels, the schedule and its tasks, of their sizes. Rows are those of a call, and not known."""

PANELS = (32, 48)  # columns; of 32 the next block is begun beside the epilogue of one, of 48 less may be padded
PARTS = 5 << 18  # bytes of L2 for the parts of the rows of a task: three of bf16 for each number
ROWS = 32  # of a block
TASKS = (8, 4, 2)  # blocks of rows
PANELS_OF_TASK = (1, 2, 4, 6, 8, 9, 12, 16)  # as schedules/cpu/gemm.mma_f32.lua has them


def multiplies(target, half):
    """Whether there are tiles for f32 ("") or for a type of 16 bits."""
    return target.has_tiles and half in ("", "bfloat16")


def schedule_of(depth, columns, panel, half):
    """(variant of gemm, what it is told)"""
    if half:
        return "mma", {"task": "4", "panels": "8"}
    task = next((t for t in TASKS if t * ROWS * depth * 6 <= PARTS), TASKS[-1])
    return "mma_f32", {"task": str(task), "panels": str(panels_of_task((columns + panel - 1) // panel))}


def panels_of_task(panels):
    """Some tasks of as many panels each: parts of rows are made once a task, and threads share what there is of tasks."""
    tasks = 4 if panels >= 24 else 2 if panels >= 8 else 1
    return next((p for p in PANELS_OF_TASK if p * tasks >= panels), PANELS_OF_TASK[-1])
