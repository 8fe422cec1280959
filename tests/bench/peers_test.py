"""With peers, where scripts/setup --peers installed them: one computes the same numbers and is timed, one
that does not is named, one that cannot do a row is a note."""

import os
import sys
import types
import unittest

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".halyard", "peers", "bin", "python")
SKIP = 77

if os.environ.get("HALYARD_NO_PEERS"):
    if not os.path.exists(PYTHON):
        print("skipped: scripts/setup --peers has not been run")
        sys.exit(SKIP)
    os.environ["HALYARD_NO_PEERS"] = ""
    os.execv(PYTHON, [PYTHON, os.path.abspath(__file__)])

from peers import contest  # noqa: E402
from peers.entry import Entry, nodes  # noqa: E402
from peers.frameworks import F, torch  # noqa: E402
from peers.ops import weights  # noqa: E402
from peers.worker import Lock  # noqa: E402

SHAPE = "rows=8,cols=64"


def run(peers=("torch",), **fields):
    entry = Entry("rms_norm", family="norms", shapes=[SHAPE], constants="weight", **fields)
    options = types.SimpleNamespace(lock=Lock(None), seconds=0.02, peers=peers, schedule=[])
    record, = contest.Contest(entry, SHAPE, "f32", contest.Machine(1), options).run()
    return record


class Peers(unittest.TestCase):
    def test_the_same_numbers_are_timed(self):
        r = run(torch=lambda x, weight, eps: F.rms_norm(x, weight.shape, weight, eps), compiled=False)
        self.assertEqual((r["peer"], r["wrong"]), ("torch", []))
        self.assertAlmostEqual(r["ratio"], r["peer_seconds"] / r["seconds"])
        self.assertEqual(set(r["contestants"]), {"rms_norm", "torch"})

    def test_onnxruntime_from_nodes(self):
        r = run(peers=("onnxruntime",),
                onnx=lambda eps: nodes(("SimplifiedLayerNormalization", ["x", "weight"], ["result0"],
                                        {"axis": -1, "epsilon": eps})))
        self.assertEqual((r["peer"], r["notes"]), ("onnxruntime", []))

    def test_other_numbers_are_named_and_not_timed(self):
        r = run(torch=lambda x: 2 * x, compiled=False)
        self.assertIsNone(r["peer"])
        self.assertEqual(r["wrong"], ["torch"])
        self.assertIn("WRONG: torch and halyard differ: relative distance", r["notes"][0])

    def test_a_peer_that_fails_is_a_note(self):
        r = run(torch=lambda x: x.no_such_method(), compiled=False)
        self.assertIsNone(r["peer"])
        self.assertEqual(r["wrong"], [])
        self.assertIn("no_such_method", r["notes"][0])

    def test_packed_weights(self):
        w = torch.arange(6.0).view(3, 2)  # n = 3, k = 2
        panels = torch.empty(2, 2, 2)
        weights.pack_into(panels, w)
        self.assertEqual(panels.tolist(), [[[0, 2], [1, 3]], [[4, 0], [5, 0]]])
        pairs = torch.empty(2, 1, 2, 2)  # neighbours of k side by side
        weights.pack_into(pairs, w)
        self.assertEqual(pairs.tolist(), [[[[0, 1], [2, 3]]], [[[4, 5], [0, 0]]]])

    def test_the_machine_has_peaks(self):
        machine = contest.Machine(1)
        self.assertGreater(machine.flops("f32", "GEMM"), 1e8)
        self.assertGreaterEqual(machine.bandwidth(1 << 12), 0.5 * machine.bandwidth(1 << 40))
        self.assertGreaterEqual(machine.flops("bf16", "GEMM"), machine.flops("f32", "GEMM"))
        if "avx512_bf16" in machine.about["flags"]:
            self.assertGreater(machine.multiply["bf16"], 1e8)


if __name__ == "__main__":
    unittest.main()
