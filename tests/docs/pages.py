"""Markdown pages as the tests read them."""

import os
import re
import subprocess

SOURCE = os.environ.get("HALYARD_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUIDE = os.path.join(SOURCE, "docs", "guide")
FENCE = re.compile(r"^```")


def tracked(*patterns):
    """Files of the repository, by git; where there is no git, by walking."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "--", *patterns], text=True, capture_output=True)
    if listed.returncode == 0:
        return [f for f in listed.stdout.split("\n") if f and os.path.exists(os.path.join(SOURCE, f))]
    ends = tuple(p.lstrip("*") for p in patterns)
    return [os.path.relpath(os.path.join(d, f), SOURCE) for d, dirs, files in os.walk(SOURCE)
            if not any(part in ("build", ".git", ".halyard") for part in os.path.relpath(d, SOURCE).split(os.sep))
            for f in files if f.endswith(ends)]


def read(path):
    with open(os.path.join(SOURCE, path)) as f:
        return f.read()


def without_code(text):
    """The lines of a page, with those of code blocks empty: fenced ones, and indented ones behind an empty line."""
    lines, fenced, indented, before = [], False, False, ""
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            lines.append("")
        elif fenced:
            lines.append("")
        else:
            indented = line.startswith("    ") and (indented or not before.strip())
            lines.append("" if indented else line)
        before = line
    return lines


def anchor(heading):
    """As GitHub makes it."""
    words = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(text):
    found = {}
    for line in without_code(text):
        m = re.match(r"#{1,6} (.*)", line)
        if m:
            name = anchor(m.group(1))
            found[name] = found.get(name, -1) + 1
    return {name if i == 0 else f"{name}-{i}" for name, n in found.items() for i in range(n + 1)}


class Example:
    def __init__(self, kind, argument, text, line):
        self.kind, self.argument, self.text, self.line = kind, argument, text, line


KINDS = ("run", "fails", "prints", "file", "options")


def examples(text):
    """The fenced blocks behind a line `<!-- KIND ARGUMENT -->`."""
    found, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        m = re.match(r"<!-- (\w+)(?: (\S+))? -->$", lines[i])
        if m and m.group(1) in KINDS:
            assert i + 1 < len(lines) and FENCE.match(lines[i + 1]), f"line {i + 1}: no fenced block behind {lines[i]}"
            end = next(n for n in range(i + 2, len(lines)) if FENCE.match(lines[n]))
            found.append(Example(m.group(1), m.group(2), "\n".join(lines[i + 2:end]) + "\n", i + 1))
            i = end
        i += 1
    return found
