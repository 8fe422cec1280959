"""Times rows with one number of threads, in a process of its own: torch's compiled code and OpenMP
keep the number that they started with, and a peer that crashes takes only its row with it.

Writes a line of JSON for each row begun and each record made.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import sys
import types

from . import application, contest, library
from .entry import ENTRIES, dims_of, rows
from .frameworks import torch


@contextlib.contextmanager
def locked(path):
    with open(path, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


class Lock:
    """Held while a row is timed, so that others who time on this machine wait; does nothing without a file."""

    def __init__(self, path):
        self.path, self.held = path, None

    def __enter__(self):
        if self.path:
            self.held = locked(self.path)
            self.held.__enter__()

    def __exit__(self, *error):
        if self.held:
            self.held.__exit__(*error)
            self.held = None


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    task = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    if not task["verbose"]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def say(**record):
        answers.write(json.dumps(record) + "\n")
        answers.flush()

    try:
        from . import ops  # noqa: F401
        machine = contest.Machine(task["threads"])
        say(machine=machine.name, copy=machine.about["copy"], flops=machine.about["flops"])
        options = types.SimpleNamespace(lock=Lock(task["lock"]), seconds=task["seconds"], peers=task["peers"],
                                        schedule=task["schedule"])
        for number, entry, shape, kind in numbered(task):
            if number in task["done"]:
                continue
            say(begin=number, row=f"{entry.name} {shape} {kind} {machine.threads}t")
            try:
                for record in contest.Contest(entry, shape, kind, machine, options).run():
                    say(record=record)
            except library.Failure as failure:
                say(failed=number, message=str(failure))
            say(end=number)
            free_memory()
        for number, case, kind in application_cases(task):
            if number in task["done"]:
                continue
            say(begin=number, row=f"{application.OP} {case} {kind} {machine.threads}t")
            try:
                say(record=application.row(machine, case, kind, options))
            except library.Failure as failure:
                say(failed=number, message=str(failure))
            say(end=number)
    except library.Failure as failure:
        say(fatal=str(failure))


def application_cases(task):
    """Of minilm, which has peers only."""
    wanted = (not task.get("sweep") and (not task["ops"] or application.OP in task["ops"]) and not task["label"] and not task["schedule"]
              and (not task["families"] or application.FAMILY in task["families"]))
    if wanted and torch:
        for kind in application.TYPES:
            for case in application.CASES:
                if (not task["types"] or kind in task["types"]) and (not task["shape"] or case in task["shape"]):
                    yield f"{application.OP} {case} {kind}", case, kind


def free_memory():
    """Hands back what the row held; malloc keeps all of it otherwise."""
    import ctypes
    import gc
    if torch:
        torch._dynamo.reset()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def numbered(task):
    """The rows of a run, or those of its part of the population."""
    if task.get("sweep"):
        from .sweep import host
        yield from ((n, *row) for n, *row in host.rows(*task["sweep"]) if not task["ops"] or row[0].op in task["ops"])
    else:
        yield from ((n, *row) for n, row in enumerate(selected(task)))


def selected(task):
    """The rows that the options ask for."""
    for entry, shape, kind in rows(task_entries(task), task["types"], {o["op"] for o in library.registry()}):
        if not task["shape"] or shape in task["shape"]:
            yield entry, shape, kind


def task_entries(task):
    """Of the ops, families and label that the options ask for. A size that the table does not have goes to every
    variant of the ops that were named."""
    chosen = [e for e in ENTRIES if (not task["ops"] or e.op in task["ops"])
              and (not task["families"] or e.family in task["families"])
              and (not task["label"] or task["label"] in e.label)]
    known = {text for e in chosen for text in e.sizes}
    more = [s for s in task["shape"] if s not in known and task["ops"]]
    def fitting(e):
        return [s for s in more if set(dims_of(s)) == set(dims_of(e.sizes[0]))]

    return [dataclasses.replace(e, shapes=[*e.shapes, *fitting(e)]) for e in chosen]


if __name__ == "__main__":
    main()
