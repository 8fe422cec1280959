"""When a row counts as fallen behind: only by more than what parts of its runs differ by."""

import unittest

from peers import measure, ratios, report


def record(ratio, low, high, roof=0.5):
    return {"key": "row", "machine": "m", "ratio": ratio, "ratio_quartiles": [low, high], "peer": "torch",
            "roof_fraction": roof, "roof_quartiles": [roof - 0.05, roof + 0.05]}


class Ratios(unittest.TestCase):
    recorded = {"row": {"ratio": 1.2, "low": 1.15, "peer": "oneDNN", "roof": 0.5, "roof_low": 0.45}}

    def test_within_noise(self):
        self.assertIsNone(ratios.behind(self.recorded, record(1.2, 1.18, 1.22)))
        self.assertIsNone(ratios.behind(self.recorded, record(1.1, 1.0, 1.16)))

    def test_beyond_noise_names_row_ratio_and_peers(self):
        sentence = ratios.behind(self.recorded, record(1.1, 1.08, 1.12))
        for part in ("row", "1.10 of torch", "1.20 of oneDNN", "1.15"):
            self.assertIn(part, sentence)

    def test_without_peers_the_roof_stands_in(self):
        now = dict(record(None, 0, 0, roof=0.3), ratio=None, ratio_quartiles=None, peer=None)
        self.assertIn("of the roof", ratios.behind(self.recorded, now))
        self.assertIsNone(ratios.behind(self.recorded, dict(now, roof_fraction=0.46)))

    def test_a_row_that_was_not_recorded_is_not_behind(self):
        self.assertIsNone(ratios.behind({}, record(0.1, 0.1, 0.1)))

    def test_what_is_recorded(self):
        self.assertEqual(ratios.entry(record(1.2, 1.25, 1.3)),
                         {"ratio": 1.2, "low": 1.2, "peer": "torch", "roof": 0.5, "roof_low": 0.45})

    def test_slower_than_a_peer_is_listed_worst_first(self):
        rows = [record(r, r, r) for r in (1.1, 0.9, 0.7)]
        self.assertEqual([r["ratio"] for r in report.behind(rows)], [0.7, 0.9])


class Fake:
    """A contestant whose calls take known seconds; notes where each sample begins."""

    def __init__(self, name, seconds):
        self.name, self.seconds, self.starts = name, seconds, []

    def sample(self, first, calls):
        self.starts.append((first, calls))
        return calls * self.seconds


class Measure(unittest.TestCase):
    def test_contestants_have_as_many_samples_each_of_a_least_length(self):
        fast, slow = Fake("fast", 1e-5), Fake("slow", 1e-2)
        times = measure.measure([fast, slow], 1, 0.1)
        self.assertEqual(len(times["fast"].samples), len(times["slow"].samples))
        self.assertAlmostEqual(times["fast"].least, 1e-5)
        self.assertGreaterEqual(max(n for _, n in fast.starts) * 1e-5, 0.9 * measure.SAMPLE_SECONDS)
        self.assertEqual({f for f, _ in fast.starts}, {0})

    def test_slow_contestants_have_few_samples(self):
        times = measure.measure([Fake("a", 1.0), Fake("b", 2.0)], 1, 0.1)
        self.assertEqual(len(times["a"].samples), measure.SLOW_ROUNDS)
        self.assertEqual(times["b"].repeats(), [2.0] * measure.SLOW_ROUNDS)

    def test_cold_calls_go_on_where_the_last_ended(self):
        fake = Fake("fake", 1e-3)
        measure.measure([fake], 5, 0.05)
        timed = fake.starts[5:]  # after warming up
        for (first, calls), (after, _) in zip(timed, timed[1:]):
            self.assertEqual(first + calls, after)


if __name__ == "__main__":
    unittest.main()
