"""The population: draws are the same everywhere, have every op, and keep to what each op allows."""

import os
import subprocess
import sys
import unittest

from peers import library
from peers.population import architectures, draw, rules
from peers.population.cost import bytes_, flops
from peers.population.numbers import Numbers, log_spread

TARGETS = ("host", "cuda")
ONE_CYCLE = "from peers.population.draw import *\nfor t in ('host', 'cuda'):\n  for c in sweep(3, 0, CYCLE, t): print(c.record())"


def keys(cases):
    return [(c.index, c.key, c.model) for c in cases]


class Draws(unittest.TestCase):
    def test_a_case_depends_on_seed_and_index_only(self):
        for target in TARGETS:
            whole = draw.sweep(7, 0, 60, target)
            self.assertEqual(keys(whole[40:]), keys(draw.sweep(7, 40, 20, target)))
            self.assertEqual(keys([whole[13]]), keys([draw.draw(7, 13, target)]))
            self.assertNotEqual(keys(whole), keys(draw.sweep(8, 0, 60, target)))

    def test_the_same_in_another_process(self):
        said = {subprocess.run([sys.executable, "-c", ONE_CYCLE], text=True, capture_output=True, check=True,
                               env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
        self.assertEqual(len(said), 1)

    def test_every_op_of_the_registry_has_cases(self):
        ops = {o["op"] for o in library.registry()} - set(draw.UNDRAWN)
        self.assertEqual(ops - set(draw.OPS), set())
        self.assertEqual(set(draw.OPS) - ops, set())
        for target in TARGETS:
            for seed in (1, 2):
                self.assertEqual({c.op for c in draw.sweep(seed, 0, len(ops), target)}, ops)

    def test_cases_name_the_dimensions_of_their_op(self):
        dims = {o["op"]: set(o["dims"]) for o in library.registry()}
        for case in draw.sweep(1, 0, 4 * draw.CYCLE, "host"):
            self.assertEqual(set(case.dims) - {"window"}, dims[case.op], case.key)

    def test_every_draw_is_legal(self):
        for target in TARGETS:
            for case in draw.sweep(11, 0, 10 * draw.CYCLE, target):
                self.assertEqual(rules.broken(case, target), [], case.key)
                self.assertGreater(min(bytes_(case), flops(case)), 0, case.key)

    def test_sizes_go_from_few_to_many(self):
        for target, op, name in (("host", "gemm", "m"), ("cuda", "gemm", "m"), ("cuda", "rms_norm", "rows"), ("cuda", "decode_attention", "keys")):
            sizes = [c.dims[name] for c in draw.sweep(1, 0, 6 * draw.CYCLE, target) if c.op == op]
            self.assertGreater(max(sizes) / min(sizes), 200, (target, op))

    def test_odd_sizes_occur(self):
        for target in TARGETS:
            cases = draw.sweep(1, 0, 4 * draw.CYCLE, target)
            for name in ("m", "rows", "keys"):
                sizes = [c.dims[name] for c in cases if name in c.dims]
                self.assertGreater(sum(s > 8 and s % 8 > 0 for s in sizes) / len(sizes), 0.08, (target, name))

    def test_strides_types_and_epilogues_occur(self):
        for target in TARGETS:
            cases = draw.sweep(1, 0, 8 * draw.CYCLE, target)
            self.assertEqual({c.layout for c in cases if c.op == "attention"}, {"heads first", "tokens first", "fused"})
            self.assertGreater(len({c.gap for c in cases}), 3)
            self.assertEqual({c.type for c in cases}, {"float32", "float16", "bfloat16"})
            self.assertGreater(len({c.label for c in cases if c.op == "gemm"}), 5)


class Rules(unittest.TestCase):
    def case(self, op, target="host"):
        return next(c for c in draw.sweep(1, 0, 2 * draw.CYCLE, target) if c.op == op)

    def test_what_breaks_an_op_is_named(self):
        attention = self.case("attention")
        attention.dims.update(heads=6, key_heads=4)
        self.assertIn("the heads of keys do not divide those of queries", rules.broken(attention, "host"))
        norm = self.case("group_norm")
        norm.dims["g"] = norm.dims["c"] + 1
        self.assertIn("groups do not divide channels", rules.broken(norm, "host"))
        product = self.case("gemm")
        product.dims["m"] = 1 << 30
        self.assertIn("it is too large", rules.broken(product, "host"))
        product.dims["m"] = 0
        self.assertIn("m is 0", rules.broken(product, "host"))


class Table(unittest.TestCase):
    def test_architectures_are_many_and_have_sources(self):
        all_ = architectures.TRANSFORMERS + architectures.CONVOLUTIONAL
        self.assertGreaterEqual(len(all_), 40)
        self.assertEqual(len({a.name for a in all_}), len(all_))
        for a in all_:
            self.assertTrue(a.source, a.name)
        for a in architectures.TRANSFORMERS:
            self.assertEqual(a.heads % a.key_heads, 0, a.name)
        self.assertEqual({a.kind for a in architectures.TRANSFORMERS}, {"language", "encoder", "vision", "speech", "diffusion"})


class Random(unittest.TestCase):
    def test_numbers_are_even_and_keyed(self):
        numbers = Numbers("a", 1)
        values = [numbers.uniform() for _ in range(4000)]
        self.assertAlmostEqual(sum(values) / len(values), 0.5, delta=0.02)
        self.assertEqual(values[:3], [Numbers("a", 1).uniform(), *values[1:3]])
        self.assertNotEqual(values[0], Numbers("a", 2).uniform())
        self.assertEqual(sorted(numbers.shuffled(range(9))), list(range(9)))

    def test_a_weight_of_zero_is_never_picked(self):
        numbers = Numbers("b")
        self.assertEqual({numbers.pick({"x": 0, "y": 1}) for _ in range(50)}, {"y"})

    def test_log_spread_has_its_ends(self):
        self.assertEqual([log_spread(u, 1, 1024) for u in (0, 0.5, 1)], [1, 32, 1024])


if __name__ == "__main__":
    unittest.main()
