"""A real pass without peers: records, table, falling behind, resuming."""

import os
import unittest

from support import ROW, SMALL, bench, json_file, read


class Run(unittest.TestCase):
    def test_record_then_fall_behind(self):
        recorded, records = json_file({}), json_file()
        r = bench(*SMALL, "--record", "--ratios", recorded, "--json", records)
        self.assertEqual(r.returncode, 0, r.stderr)
        row = next(x for x in read(records) if x["key"] == ROW)
        self.assertEqual(row["cache"], "warm")
        self.assertEqual(row["bytes"], (2 * 8 * 64 + 64) * 4)
        self.assertEqual(row["flops"], 4 * 8 * 64)
        self.assertGreater(row["seconds"], 1e-8)
        self.assertLessEqual(row["seconds"], row["seconds_median"])
        self.assertIsNone(row["peer"])
        self.assertRegex(r.stdout, r"rms_norm +8x64 +f32")

        # The roof that is on file decides: one that is out of reach makes the row fall behind, one
        # that is easily reached does not.
        machine, = read(recorded)
        for roof, behind in ((1e6, True), (1e-6, False)):
            fake = json_file({machine: {ROW: {"roof": roof, "roof_low": 0.9 * roof}}})
            r = bench(*SMALL, "--ratios", fake)
            self.assertEqual(r.returncode, 1 if behind else 0, r.stderr)
            self.assertEqual(f"error: BEHIND: {ROW}" in r.stderr, behind, r.stderr)

        # Another machine's ratios say nothing about this one.
        fake = json_file({"another machine": {ROW: {"roof": 1e6, "roof_low": 1e6}}})
        self.assertEqual(bench(*SMALL, "--ratios", fake).returncode, 0)

        # A whole run that is resumed measures nothing again.
        again = json_file()
        r = bench(*SMALL, "--resume", "--ratios", json_file({}), "--json", again)
        self.assertEqual(r.returncode, 0, r.stderr)
        first = bench(*SMALL, "--resume", "--ratios", json_file({}), "--json", json_file())
        self.assertEqual(first.returncode, 0)
        self.assertEqual(first.stderr, "")
        self.assertEqual([x["key"] for x in read(again)], [x["key"] for x in read(records)])

        # Rows that nobody asks a file for are in the build tree.
        r = bench(*SMALL, "--resume", "--ratios", json_file({}))
        file = os.path.join(os.environ["HALYARD_ROOT"], "bench", "table.json")
        self.assertIn(f"The rows are in {file}", r.stdout)
        self.assertEqual(read(file), read(again))

    def test_a_failing_kernel_is_an_error_of_its_row(self):
        r = bench(*SMALL, "--schedule", os.devnull)
        self.assertEqual(r.returncode, 1)
        self.assertIn("rms_norm rows=8,cols=64 f32", r.stderr)


if __name__ == "__main__":
    unittest.main()
