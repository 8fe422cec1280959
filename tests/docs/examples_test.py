"""Runs the examples of a page of the guide, as a reader would copy them: examples_test.py PAGE.

A fenced block is an example where the line before it says what to do with it:

    <!-- run -->         every command runs and succeeds; a page's commands share a folder and run from top to bottom
    <!-- fails -->       the last command fails
    <!-- prints -->      the commands before printed these lines, one after the other; ... stands for any text
    <!-- file NAME -->   the block is that file, for the commands behind it
    <!-- options -->     the commands are not run, as they measure, search or need a device: ops, options and files that they
                         name exist

The folder looks like a checkout: scripts/halyard is the built command, schedules and generators are the real ones.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import pages

BUILD, CMAKE = os.environ["HALYARD_BUILD"], os.environ.get("HALYARD_CMAKE", "cmake")
HALYARD = os.path.join(BUILD, "bin", "halyard")
SECONDS = 240


def commands(text):
    """The commands of a block, with lines that end in \\ joined, without prompts and comments."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [c for c in (line.strip().removeprefix("$ ") for line in joined.split("\n")) if c and not c.startswith("#")]


class Folder:
    """Where the examples of a page run."""

    def __init__(self, path):
        self.path = path
        for room in ("schedules", "generators", "tests", ".halyard"):
            os.symlink(os.path.join(pages.SOURCE, room), os.path.join(path, room))
        os.symlink(BUILD, os.path.join(path, "build"))
        os.makedirs(os.path.join(path, "scripts"))
        os.makedirs(os.path.join(path, "bin"))
        for place in ("scripts/halyard", "bin/halyard"):
            self.program(place, f'exec {HALYARD} "$@"')
        self.program("bin/cmake", f'exec {CMAKE} "$@"')
        tools = [os.path.join(path, "bin"), os.path.dirname(os.environ.get("HALYARD_NINJA", "")), os.environ["PATH"]]
        self.env = {**os.environ, "HOME": path, "PATH": os.pathsep.join(t for t in tools if t), "EDITOR": "true",
                    "XDG_DATA_HOME": os.path.join(path, "data")}

    def program(self, name, text):
        file = os.path.join(self.path, name)
        with open(file, "w") as f:
            f.write(f"#!/bin/sh\n{text}\n")
        os.chmod(file, 0o755)

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.path, env=self.env, text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def not_printed(expected, output):
    """The first line of the block that the output lacks, in this order; None."""
    at, output = 0, squeezed(output)
    for line in expected.split("\n"):
        for piece in map(squeezed, line.split("...")):
            if piece:
                found = output.find(piece, at)
                if found < 0:
                    return line
                at = found + len(piece)
    return None


def long_options(folder, words):
    """--options of a subcommand, by its help."""
    text = folder.run(shlex.join(["halyard", *words, "--help"])).stdout
    return set(re.findall(r"--[a-z][a-z-]*", text))


def unknown(folder, command, ops):
    """What a halyard command names that does not exist: a list of sentences."""
    words = shlex.split(command, comments=True)
    if not words or os.path.basename(words[0]) not in ("halyard", "measure"):
        return []
    if os.path.basename(words[0]) == "measure":  # of an exported folder
        words[:1] = ["halyard", "measure"]
    sub = words[1:3] if words[1] == "db" else words[1:2]
    known = long_options(folder, sub)
    wrong = [f"{' '.join(sub)} has no option {w}" for w in words if w.startswith("--") and w.split("=")[0] not in known]
    if words[1] in ("build", "show", "bench", "explain", "explore") and "--generator" not in words:
        of_model = words[1] in ("explain", "explore") and words[2].endswith((".json", ".onnx"))
        wrong += [f"there is no op {words[2]}"] * (words[2] not in ops and not of_model)
    return wrong


def main(page):
    ops = {o["op"] for o in json.loads(subprocess.run([HALYARD, "list", "--json"], text=True, capture_output=True, check=True).stdout)}
    with tempfile.TemporaryDirectory() as path:
        folder, output = Folder(path), ""
        for e in pages.examples(pages.read(os.path.join(pages.GUIDE, f"{page}.md"))):
            where = f"docs/guide/{page}.md:{e.line}"
            if e.kind == "file":
                file = os.path.join(path, e.argument)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "w") as f:
                    f.write(e.text)
            elif e.kind == "prints":
                line = not_printed(e.text, output)
                if line is not None:
                    sys.exit(f"{where}: not printed: {line}\nThe commands printed:\n{output}")
            elif e.kind == "options":
                wrong = [w for c in commands(e.text) for w in unknown(folder, c, ops)]
                if wrong:
                    sys.exit("\n".join(f"{where}: {w}" for w in wrong))
            else:
                listed, output = commands(e.text), ""
                for i, command in enumerate(listed):
                    r = folder.run(command)
                    output += r.stdout
                    fails = e.kind == "fails" and i == len(listed) - 1
                    if (r.returncode != 0) != fails:
                        sys.exit(f"{where}: {command}\nended with code {r.returncode}:\n{r.stdout}")


if __name__ == "__main__":
    main(sys.argv[1])
