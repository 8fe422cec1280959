"""The Python package on a real GPU, with torch: results, the current stream, CUDA graphs, torch.compile, what a call costs.

Run by hand on a machine with a device, where `pip install "halyard-...whl[cuda]" torch` was done:

  python3 tests/gpu/python_check.py
"""

import time
import unittest

import torch

import halyard
import halyard.torch

DEVICE = "cuda"


def reference(x, w, eps=1e-6):
    return torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), w.float(), eps).to(x.dtype)


class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.norm = staticmethod(halyard.op("rms_norm", type="bfloat16", device=DEVICE))
        cls.x, cls.w = torch.randn(512, 4096, dtype=torch.bfloat16, device=DEVICE), torch.rand(4096, dtype=torch.bfloat16, device=DEVICE)

    def close(self, a, b):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)

    def test_results(self):
        y = self.norm(self.x, self.w, eps=1e-6)
        self.assertEqual((y.device, y.dtype), (self.x.device, torch.bfloat16))
        self.close(y, reference(self.x, self.w))
        out = torch.empty_like(self.x)
        self.assertIs(self.norm(self.x, self.w, out=out), out)
        self.close(out, reference(self.x, self.w))

    def test_an_op_for_both(self):
        norm = halyard.op("rms_norm", type="bfloat16")
        self.close(norm(self.x, self.w), norm(self.x.cpu(), self.w.cpu()).to(DEVICE))

    def test_the_current_stream(self):
        """What the stream has still to write before the call is what the call reads, and the call does not wait for it."""
        stream, x = torch.cuda.Stream(), torch.zeros_like(self.x)
        self.norm(x, self.w)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)  # about 0.1 s
            x.copy_(self.x)
            begin = time.perf_counter()
            y = self.norm(x, self.w)
            took = time.perf_counter() - begin
        self.assertLess(took, 0.02)
        stream.synchronize()
        self.close(y, reference(self.x, self.w))

    def test_a_graph(self):
        x, out = self.x.clone(), torch.empty_like(self.x)
        self.norm(x, self.w, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.norm(x, self.w, out=out)
            made = self.norm(out, self.w)
        x.copy_(3 * self.x)
        graph.replay()
        torch.cuda.synchronize()
        self.close(out, reference(3 * self.x, self.w))
        self.close(made, reference(out, self.w))

    def test_operators(self):
        norm = halyard.torch.op("rms_norm", type="bfloat16", device=DEVICE)
        torch.library.opcheck(norm, (self.x, self.w))

        def model(x):
            return torch.relu(norm(x * 2, self.w))

        with torch.inference_mode():
            for mode in ("default", "reduce-overhead"):  # the second captures graphs
                compiled = torch.compile(model, fullgraph=True, mode=mode)
                for _ in range(3):
                    self.close(compiled(self.x), model(self.x))

    def test_errors(self):
        with self.assertRaisesRegex(halyard.Error, "weight"):
            self.norm(self.x, self.w[:7])
        with self.assertRaisesRegex(ValueError, "weight is on the host, but x is on CUDA device 0"):
            self.norm(self.x, self.w.cpu())
        self.test_results()

    def test_the_cost_of_a_call(self):
        x, w = self.x[:1, :8].contiguous(), self.w[:8].contiguous()
        out = torch.empty_like(x)
        for name, call in (("halyard, a given tensor", lambda: self.norm(x, w, out=out)), ("halyard, a new tensor", lambda: self.norm(x, w)),
                           ("torch.add", lambda: torch.add(x, w)), ("torch.add, a given tensor", lambda: torch.add(x, w, out=out))):
            best = float("inf")
            for _ in range(20):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(200):
                    call()
                best = min(best, (time.perf_counter() - begin) / 200)
            print(f"{name}: {best * 1e6:.2f} us")


if __name__ == "__main__":
    unittest.main()
