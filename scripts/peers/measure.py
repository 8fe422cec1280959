"""Timing of contestants against each other, as `halyard bench` does it: they take turns in an order
that rotates, each sample lasts some hundred microseconds, and the spread is measured.

A contestant has a name and sample(first, calls): the seconds of `calls` calls that begin with set
number `first` of its arguments. Cold, the next call takes the next set; warm, all take the first.
"""

import math
import statistics

SAMPLE_SECONDS = 1e-3
LEAST_ROUNDS, MOST_ROUNDS = 12, 400
SLOW_SECONDS, SLOW_ROUNDS = 0.1, 4  # a call that takes so long brings its own data into the cache
REPEATS = 6  # parts of a run, each with a least time of its own: what they differ by is noise


class Times:
    """Seconds a call, of samples in the order in which they were taken."""

    def __init__(self, samples):
        self.samples = samples
        self.least = min(samples)
        self.median = statistics.median(samples)
        self.quartiles = quartiles(samples)

    def repeats(self):
        """The least of each part of the run. All contestants have as many samples, so part n of one
        was taken beside part n of another."""
        n = len(self.samples)
        parts = min(REPEATS, n)
        return [min(self.samples[i * n // parts:(i + 1) * n // parts]) for i in range(parts)]


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def measure(contestants, sets, seconds):
    """Times of each contestant; `sets` is how many sets of arguments it goes round (1: warm)."""
    calls, again, round_seconds, slowest = {}, {}, 0, 0
    for c in contestants:
        once = c.sample(0, 1)  # threads, page faults
        if once < SLOW_SECONDS:
            once = min(c.sample(0, 1) for _ in range(4))
        calls[c.name] = max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7)))
        again[c.name] = sets == 1 and once < SLOW_SECONDS  # another contestant has had the cache
        round_seconds += once * (calls[c.name] + again[c.name])
        slowest = max(slowest, once)
    least = LEAST_ROUNDS if slowest < SLOW_SECONDS else SLOW_ROUNDS
    rounds = min(max(int(seconds * len(contestants) / round_seconds), least), MOST_ROUNDS)
    position = dict.fromkeys(calls, 0)
    samples = {name: [] for name in calls}
    for r in range(rounds):
        turn = r % len(contestants)
        for c in contestants[turn:] + contestants[:turn]:
            n = calls[c.name]
            if again[c.name]:
                c.sample(0, 1)
            samples[c.name].append(c.sample(position[c.name], n) / n)
            position[c.name] += n if sets > 1 else 0
    return {name: Times(s) for name, s in samples.items()}
