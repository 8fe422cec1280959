"""Reports of the population: their numbers on made-up runs, the picture, what counts as fallen, and a run that goes on."""

import json
import os
import tempfile
import unittest
import xml.etree.ElementTree as xml

from peers.gpu.sweep import Results
from peers.sweep import against, kept, picture, report, statistics
from support import bench, json_file, read

SMALL = ["rms_norm", "--sweep", "18", "--seed", "1", "--threads", "1", "--seconds", "0.02", "--no-peers"]


def record(index, op, ratio, roof=0.5, **more):
    case = {"index": index, "op": op, "dims": {"rows": 8}, "type": "float32", "params": {}, "model": "a model", "use": "decode", "gap": 0, "layout": ""}
    return {"key": f"{op} rows={index} f32", "op": op, "label": "", "shape": f"rows={index}", "type": "f32", "machine": "a machine", "seconds": 1e-5,
            "floor_seconds": 1e-6 * (index + 1), "roof_fraction": roof, "ratio": ratio, "peer": "torch" if ratio else None,
            "peer_seconds": ratio and 1e-5 * ratio, "case": case, "chosen": {"schedule": "rms_norm", "version": None}, "notes": [], **more}


def run(ratios, op="rms_norm", **more):
    return {"target": "host", "seed": 1, "count": len(ratios), "records": [record(i, op, r) for i, r in enumerate(ratios)], "failed": [], **more}


class Numbers(unittest.TestCase):
    def test_summary(self):
        s = statistics.summary(run([0.5, 1, 2, None])["records"])
        self.assertEqual((s["cases"], s["with_peer"], s["behind"], s["least"]), (4, 3, 1, 0.5))
        self.assertAlmostEqual(s["geometric_mean"], 1)
        self.assertAlmostEqual(s["tenth"], 2 ** -0.8)  # a tenth of the way from 0.5 over 1 to 2, in logarithms
        self.assertAlmostEqual(s["roof"], 0.5)

    def test_percentile_of_one_and_none(self):
        self.assertAlmostEqual(statistics.percentile([3.0], 0.1), 3)
        self.assertIsNone(statistics.percentile([], 0.1))
        self.assertIsNone(statistics.geometric_mean([]))

    def test_worst_come_in_order_without_those_that_have_no_peer(self):
        worst = statistics.worst(run([1, 0.25, None, 0.5])["records"], 2)
        self.assertEqual([r["ratio"] for r in worst], [0.25, 0.5])


class Text(unittest.TestCase):
    def test_report(self):
        made = run([0.5, 1, 2])
        made["records"].append(record(9, "softmax", None))
        made["failed"] = [{"key": "gemm m=1", "message": "it failed"}]
        made["count"] = 7
        text = report.text(made)
        self.assertRegex(text, r"rms_norm +3 +3 +1\.00 +0\.57 +0\.50 +1 +50%")
        self.assertRegex(text, r"softmax +1 +0 +- +- +- +0 +50%")
        self.assertRegex(text, r"in all +4 +3 +1\.00")
        self.assertRegex(text, r"0\.50 +50% +rms_norm +0 +f32 +10 us +torch 5 us +rms_norm +a model, decode")
        self.assertIn("gemm m=1: it failed", text)
        self.assertIn("2 of 7 cases were not timed", text)

    def test_a_run_without_cases(self):
        self.assertEqual(report.text(run([])), "no case was timed")


class Picture(unittest.TestCase):
    def test_a_dot_a_case_and_names_of_the_worst(self):
        made = run([0.2 + 0.1 * i for i in range(30)])
        root = xml.fromstring(picture.draw(made))
        dots = [c for c in root.iter("{http://www.w3.org/2000/svg}circle") if len(c)]
        self.assertEqual(len(dots), 30)
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(sum(t.endswith("rms_norm f32") for t in texts), 10)
        self.assertTrue(any(t.startswith("0.20  rms_norm") for t in texts))

    def test_names_do_not_overlap_nor_leave(self):
        places = picture.spread([5, 6, 7, 95], 10, 0, 100)
        self.assertTrue(all(b - a >= 10 for a, b in zip(places, places[1:])))
        self.assertLessEqual(places[-1], 100)

    def test_nothing_to_draw(self):
        for empty in (run([]), run([None])):
            xml.fromstring(picture.draw(empty))


class Against(unittest.TestCase):
    before = run([1.0] * 40)["records"]

    def test_noise_is_none(self):
        now = run([0.97 if i % 2 else 1.02 for i in range(40)])["records"]
        self.assertEqual(against.fell(now, self.before), [])

    def test_one_helped_and_many_hurt(self):
        now = run([4.0] + [0.93] * 39)["records"]
        said = against.fell(now, self.before)
        self.assertTrue(any("geometric mean is 0.9" in s and "all 40 cases" in s for s in said), said)

    def test_a_few_hurt_much_lower_the_percentile(self):
        now = run([0.5] * 6 + [1.15] * 34)["records"]
        said = against.fell(now, self.before)
        self.assertTrue(any("10th percentile" in s for s in said), said)
        self.assertFalse(any("geometric mean" in s and "all" in s for s in said), said)

    def test_an_op_that_fell_is_named(self):
        before = run([1.0] * 60)["records"] + run([1.0] * 4, "softmax")["records"]
        now = run([1.02] * 60)["records"] + run([0.85] * 4, "softmax")["records"]
        self.assertEqual([s.split(",")[0] for s in against.fell(now, before)], ["softmax"])

    def test_other_cases_are_compared_as_distributions(self):
        others = [dict(r, key="other " + r["key"]) for r in run([0.9] * 40)["records"]]
        said = against.fell(others, self.before)
        self.assertIn("other ones than recorded", said[0])
        self.assertEqual(against.fell([dict(r, ratio=1.0) for r in others], self.before), [])

    def test_what_fails_now(self):
        now = run([1.0], failed=[{"key": self.before[5]["key"], "message": "wrong"}, {"key": "new", "message": "wrong"}])
        self.assertEqual(len(against.newly_failed(now, {"records": self.before})), 1)


class Kept(unittest.TestCase):
    def test_a_recorded_run_can_be_read_and_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            path = kept.keep("Zen 9, one", run([1.0, 2.0, None]), "a note", folder)
            self.assertEqual(os.path.basename(path), "Zen-9-one.json")
            made = kept.recorded(folder)
            self.assertEqual([r["ratio"] for r in made[0]["records"]], [1.0, 2.0, None])
            self.assertEqual(made[0]["records"][0]["machine"], "a machine")
            from peers.sweep import page
            text = "\n".join(page.section(made))
            self.assertIn("| Zen 9, one | in all | 3 | 2 | 1.41", text)
            self.assertIn("| Zen 9, one | rms_norm | rows=0 | f32 | 1.00 | torch | a model |", text)

    def test_the_command_fails_where_a_run_fell(self):
        then, now, same = json_file(run([1.0] * 20)), json_file(run([0.9] * 20)), json_file(run([1.01] * 20))
        out = json_file()
        for file, code in ((now, 1), (same, 0)):
            r = bench("--sweep", "--from", file, "--against", then, "--json", out)
            self.assertEqual(r.returncode, code, r.stderr)
        self.assertIn("BEHIND: all 20 cases: the geometric mean is 0.900, recorded 1.000", bench(
            "--sweep", "--from", now, "--against", then, "--json", out).stderr)
        self.assertTrue(os.path.exists(os.path.splitext(out)[0] + ".svg"))

    def test_parts_of_a_run_are_one(self):
        whole = run([1.0, 0.5, 2.0, 1.5])
        parts = [json_file({**whole, "records": whole["records"][:3]}), json_file({**whole, "records": whole["records"][2:]})]
        out = json_file()
        r = bench("--sweep", "--from", parts[0], "--from", parts[1], "--json", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(sorted(x["ratio"] for x in read(out)["records"]), [0.5, 1.0, 1.5, 2.0])


class Resumed(unittest.TestCase):
    def test_a_host_run_goes_on_where_it_was_cut_off(self):
        first, again = json_file(), json_file()
        r = bench(*SMALL, "--json", first)
        self.assertEqual(r.returncode, 0, r.stderr)
        records = read(first)["records"]
        self.assertTrue(records)
        self.assertEqual({x["op"] for x in records}, {"rms_norm"})
        self.assertIsNone(records[0]["ratio"])
        self.assertGreater(records[0]["roof_fraction"], 0)
        self.assertEqual(records[0]["case"]["index"], 17)
        r = bench(*SMALL, "--resume", "--json", again)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(read(again)["records"], records)

    def test_a_run_on_a_gpu_keeps_what_it_has(self):
        path = json_file()
        os.remove(path)
        results = Results(path)
        results.update(seed=1)
        results.add("records", record(4, "gemm", 1.0))
        results.add("failed", {"index": 6, "key": "gemm", "message": "the process ended"})
        self.assertEqual(Results(path).done(), {4, 6})
        self.assertEqual(Results(path).content["seed"], 1)
        self.assertEqual(Results(path, again=True).done(), set())
        with open(path) as f:
            self.assertEqual(len(json.load(f)["records"]), 1)


if __name__ == "__main__":
    unittest.main()
