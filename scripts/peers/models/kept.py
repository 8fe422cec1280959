"""The rows that a run of whole models has so far, in one file, which is whole at any time: an interrupted run goes on from there."""

import json
import os


class Kept:
    def __init__(self, path, resume):
        self.path, self.rows = path, {}
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if resume and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.rows = json.load(f)
        else:
            self.write()

    def write(self):
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.rows, f)
        os.replace(self.path + ".new", self.path)

    def add(self, key, record):
        self.rows[key] = record
        self.write()
