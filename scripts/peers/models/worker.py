"""Times one model at one size: the task on standard input, the record on standard output."""

import json
import sys

from . import command

if __name__ == "__main__":
    command.work(json.load(sys.stdin))
