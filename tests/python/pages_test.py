"""What a notebook shows: schedules, loop nests, explanations, searches."""

import html.parser
import pathlib
import tempfile
import unittest

import numpy as np

import halyard


class Words(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.text, self.source = "", ""
        self.feed(text)

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attributes):
        self.source = dict(attributes).get("srcdoc", self.source)


class Pages(unittest.TestCase):
    def page_of(self, thing):
        return Words(Words(thing._repr_html_()).source).text

    def test_show(self):
        shown = halyard.show("rms_norm", set={"rows": 4})
        self.assertIn("parallel task:", str(shown))
        self.assertIn("for row_in_task in [0, 3]:", self.page_of(shown))
        self.assertIn("task:parallel()", self.page_of(shown))
        with tempfile.TemporaryDirectory() as folder:
            shown.save(folder + "/nest.html")
            self.assertIn("row_in_task", pathlib.Path(folder, "nest.html").read_text())

    def test_explain(self):
        explained = halyard.explain("rms_norm", shape={"rows": 16, "cols": 256}, predict=True)
        self.assertIn("rms_norm", str(explained))
        self.assertIn("rows=16", self.page_of(explained))

    def test_a_schedule_from_a_cell(self):
        text = pathlib.Path(halyard.op("rms_norm").script).read_text()
        schedule = halyard.schedule("-- Of a cell.\n" + text)
        self.assertIn("Of a cell", schedule._repr_html_())
        x = np.ones((2, 32), np.float32)
        np.testing.assert_allclose(halyard.op("rms_norm", schedule=schedule)(x, x[0]), x, rtol=1e-5)
        with tempfile.TemporaryDirectory() as folder:
            mine = schedule.save(folder + "/mine.lua")
            self.assertEqual(halyard.schedule(folder + "/mine.lua").text, mine.text)

    def test_explore(self):
        found = halyard.explore("softmax", shape={"rows": 8, "cols": 64}, budget="3s", threads=1)
        self.assertIn("the best of", str(found))
        self.assertIn('schedule "softmax"', found.schedule.text)
        self.assertIn("alternatives", self.page_of(found))
        x = np.zeros((2, 16), np.float32)
        np.testing.assert_allclose(halyard.op("softmax", schedule=found.schedule)(x), 1 / 16)


if __name__ == "__main__":
    unittest.main()
