"""docs/guide/python.md, followed to the letter: its blocks of Python run one after the other, and print what the page says."""

import contextlib
import importlib
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^<!-- (run|prints|needs) ?(\w*) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks():
    return BLOCK.findall((ROOT / "docs" / "guide" / "python.md").read_text())


class Guide(unittest.TestCase):
    def test_the_page(self):
        names, printed = {}, ""
        for kind, module, language, text in blocks():
            with self.subTest(text=text):
                if kind == "prints":
                    self.assertEqual(printed, text)
                elif language == "sh":
                    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
                    subprocess.run(text, shell=True, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path})
                elif kind == "run" or self.has(module):
                    output = io.StringIO()
                    with contextlib.redirect_stdout(output):
                        exec(compile(text, "python.md", "exec"), names)
                    printed = output.getvalue()

    @staticmethod
    def has(module):
        try:
            importlib.import_module(module)
        except ImportError as e:
            print(f"skipped: {module}: {e}")
            return False
        return True

    def test_there_are_blocks(self):
        self.assertGreater(len(blocks()), 8)


if __name__ == "__main__":
    unittest.main()
