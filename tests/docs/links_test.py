"""Every relative link of a page leads to a file and a heading, and every path in backticks exists."""

import os
import re
import unittest

import pages

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TICKS = re.compile(r"`([^`\n]+)`")
# Folders of the repository, in whose names a path begins.
ROOMS = ("apps", "docs", "generators", "runtime", "schedules", "scripts", "tests", "third_party")


def broken_links(path, text):
    """Sentences on the links of a page."""
    folder = os.path.dirname(os.path.join(pages.SOURCE, path))
    for n, line in enumerate(pages.without_code(text), 1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, heading = target.partition("#")
            file = os.path.normpath(os.path.join(folder, name)) if name else os.path.join(pages.SOURCE, path)
            if not os.path.exists(file):
                yield f"{path}:{n}: no file {target}"
            elif heading and heading not in pages.anchors(pages.read(file)):
                yield f"{path}:{n}: no heading {target}"


def missing_paths(path, text):
    """Sentences on words in backticks that look like a file of the repository. NAME, * and ... stand for something else."""
    for n, line in enumerate(pages.without_code(text), 1):
        for ticks in TICKS.findall(line):
            for word in ticks.split():
                word = word.rstrip(",;:")
                if not re.match(rf"(?:{'|'.join(ROOMS)})/[\w./-]+$", word) or re.search(r"[A-Z]{2,}(?!\w*\.md)|\.\.\.", word):
                    continue
                if not os.path.exists(os.path.join(pages.SOURCE, word)):
                    yield f"{path}:{n}: no path {word}"


class Links(unittest.TestCase):
    def test_every_page(self):
        wrong = []
        for path in pages.tracked("*.md"):
            text = pages.read(path)
            wrong += [*broken_links(path, text), *missing_paths(path, text)]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_what_is_broken_is_found(self):
        text = "# A head\n[a](none.md) [b](#a-head) [c](#other)\n`runtime/none.h` `runtime/NAME.h` `scripts/test -R x`\n\n    [code](none.md)\n"
        self.assertEqual(list(broken_links("x.md", text))[0], "x.md:2: no file none.md")
        self.assertEqual(list(missing_paths("x.md", text)), ["x.md:3: no path runtime/none.h"])
        self.assertEqual(pages.anchors("# A `b`, c\n# A `b`, c\n"), {"a-b-c", "a-b-c-1"})


if __name__ == "__main__":
    unittest.main()
