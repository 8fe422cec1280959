"""The form of the guide: what a reader can do first, contents where a page is long, short paragraphs."""

import os
import re
import unittest

import pages

OPENING = "After this page you can"
LONGEST_PARAGRAPH, TWO_SCREENS = 8, 90


def paragraphs(text):
    """(line, number of lines) of everything but headings, tables and code; an item of a list is a paragraph."""
    start, count = 0, 0
    for n, line in enumerate([*pages.without_code(text), ""], 1):
        item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        plain = line.strip() and not re.match(r"#|\||<!--", line)
        if not plain or item:
            if count:
                yield start, count
            start, count = n, 1 if item and plain else 0
        elif count:
            count += 1
        else:
            start, count = n, 1


def faults(name, text):
    lines = text.split("\n")
    if name != "glossary.md" and OPENING not in "\n".join(lines[:6]):
        yield f"{name}: does not open with \"{OPENING} ...\""
    if len(lines) > TWO_SCREENS:
        for line in pages.without_code(text):
            m = re.match(r"## (.*)", line)
            if m and m.group(1) != "Contents" and f"](#{pages.anchor(m.group(1))})" not in text:
                yield f"{name}: \"{m.group(1)}\" is not in its contents"
        if "## Contents" not in text:
            yield f"{name}: has {len(lines)} lines and no contents"
    for line, count in paragraphs(text):
        if count > LONGEST_PARAGRAPH:
            yield f"{name}:{line}: a paragraph of {count} lines"


class Guide(unittest.TestCase):
    def test_every_page(self):
        wrong = [f for name in sorted(os.listdir(pages.GUIDE)) for f in faults(name, pages.read(os.path.join(pages.GUIDE, name)))]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_every_page_has_tested_examples(self):
        for name in sorted(os.listdir(pages.GUIDE)):
            if name != "glossary.md":
                self.assertTrue(pages.examples(pages.read(os.path.join(pages.GUIDE, name))), name)

    def test_faults_are_found(self):
        page = "# Page\n\nText.\n\n" + "long\n" * 9 + "\n- item\n- item\n\n## Part\n" + "\n" * 90
        found = list(faults("x.md", page))
        self.assertEqual(found, ['x.md: does not open with "After this page you can ..."', 'x.md: "Part" is not in its contents',
                                 "x.md: has 109 lines and no contents", "x.md:5: a paragraph of 9 lines"])


if __name__ == "__main__":
    unittest.main()
