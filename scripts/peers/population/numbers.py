"""Random numbers that depend on a key only: the same on every machine, with every Python, in any order of calls."""

import hashlib


class Numbers:
    def __init__(self, *key):
        self.key, self.count = "/".join(map(str, key)), 0

    def uniform(self):
        """In [0, 1)."""
        self.count += 1
        digest = hashlib.sha256(f"{self.key}#{self.count}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2 ** 48

    def pick(self, choices):
        """One of a list, or of a dict {choice: weight}."""
        if not isinstance(choices, dict):
            choices = list(choices)
            return choices[int(self.uniform() * len(choices))]
        left = self.uniform() * sum(choices.values())
        for choice, weight in choices.items():
            left -= weight
            if left < 0:
                return choice
        return choice

    def chance(self, probability):
        return self.uniform() < probability

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = int(self.uniform() * (i + 1))
            items[i], items[j] = items[j], items[i]
        return items


def log_spread(u, low, high):
    """From low (u = 0) to high (u = 1), evenly in the logarithm."""
    return max(low, min(high, round(low * (high / low) ** u)))


def rounded(numbers, value, low=1):
    """What a program would have there: a power of two, a multiple of 8, or just as it comes (a ragged batch)."""
    how = numbers.pick({"power": 0.5, "eights": 0.25, "as it comes": 0.25})
    if how == "power":
        value = 1 << max(0, round(value).bit_length() - 1)
    elif how == "eights" and value > 8:
        value = value // 8 * 8
    return max(low, value)
