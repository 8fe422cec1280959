"""docs/performance.md and README's table are what the recorded runs make, and a run that is kept can be read again."""

import os
import tempfile
import unittest

import pages
from peers import performance

COMMAND = "run: PYTHONPATH=scripts python3 -m peers.performance"
RECORD = {"family": "norms", "op": "rms_norm", "label": "residual", "shape": "rows=64,cols=4096", "type": "f32", "cache": "warm",
          "threads": 1, "seconds": 2e-5, "bound": "memory", "bytes": 2e6, "flops": 0, "roof_fraction": 0.5, "peer": "torch",
          "peer_seconds": 3e-5, "ratio": 1.5, "ratio_quartiles": [1.4, 1.6], "machine": "AMD EPYC, avx512_zen9, 2 processors",
          "time": "2026-01-02 03:04:05"}


class Performance(unittest.TestCase):
    def setUp(self):
        self.runs = performance.read_runs()

    def test_the_page_is_up_to_date(self):
        made = performance.page(self.runs, performance.recorded_rows(), performance.pictures_beside(performance.PAGE))
        self.assertTrue(made == pages.read("docs/performance.md"), COMMAND)

    def test_the_table_of_the_readme_is_up_to_date(self):
        text = pages.read("README.md")
        self.assertTrue(performance.with_table(text, performance.minilm_table(self.runs)) == text, COMMAND)

    def test_a_kept_run_stands_for_the_ratio_on_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = performance.keep("Zen 9", [RECORD], "torch 2", "a note", folder)
            self.assertEqual(os.path.basename(path), "2026-01-02-zen9.json")
            runs = performance.read_runs(folder)
        same = dict(runs[0]["rows"][0], time="", peer_time="")
        rows = performance.all_rows(runs, [("Zen 9", same), ("Zen 4", same)])
        self.assertEqual([(r["label"], r["time"]) for r in rows], [("Zen 4", ""), ("Zen 9", "20 us")])
        self.assertIn("| rms_norm residual | 64x4096 | f32 | Zen 9, 1 thread, in | 20 us, 100 GB/s | torch 30 us | 1.50 (1.40-1.60) | 50% |",
                      performance.page(runs, []))

    def test_the_roof_of_a_gpu_follows_from_its_peaks(self):
        peaks = {"bf16": "989 TFLOP/s", "copy": "4.28 TB/s"}
        self.assertEqual(performance.roof_of({"roof": "", "rate": "637 TFLOP/s", "type": "bf16"}, peaks), "64%")
        self.assertEqual(performance.roof_of({"roof": "", "rate": "2.14 TB/s", "type": "bf16"}, peaks), "50%")
        self.assertEqual(performance.roof_of({"roof": "", "rate": "300 TFLOP/s", "type": "tf32"}, peaks), "")


if __name__ == "__main__":
    unittest.main()
