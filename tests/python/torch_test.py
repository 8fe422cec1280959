"""Operators of torch: opcheck, torch.compile, torch.export, and that there is no gradient."""

import io
import sys
import unittest

try:
    import torch
except ImportError as e:
    print(f"skipped: torch: {e}")
    sys.exit(0)

import halyard
import halyard.torch


def reference(x, w, eps=1e-6):
    return torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), w.float(), eps).to(x.dtype)


class Model(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm, self.weight = norm, torch.nn.Parameter(torch.rand(64, dtype=torch.bfloat16))

    def forward(self, x):
        return torch.relu(self.norm(x * 2, self.weight, 1e-6))


class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.norm = staticmethod(halyard.torch.op("rms_norm", type="bfloat16"))
        cls.x, cls.w = torch.randn(5, 64, dtype=torch.bfloat16), torch.rand(64, dtype=torch.bfloat16)

    def close(self, a, b):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)

    def test_tensors_without_an_operator(self):
        norm = halyard.op("rms_norm", type="bfloat16")
        self.close(norm(self.x, self.w, eps=1e-6), reference(self.x, self.w))
        y = torch.empty_like(self.x)
        self.assertIs(norm(self.x, self.w, out=y), y)
        self.assertEqual(y.data_ptr(), norm(self.x, self.w, out=y).data_ptr())

    def test_tensors_that_are_negated_when_they_are_read(self):
        norm, softmax = halyard.op("rms_norm"), halyard.op("softmax")
        x, w = torch.randn(5, 1), torch.rand(1)
        negated = torch.imag(torch.complex(x, x).conj())
        for call in (lambda: norm(negated, w), lambda: norm(x, torch._neg_view(w)), lambda: softmax(x, out=torch._neg_view(x.clone()))):
            self.assertRaisesRegex(ValueError, "resolve_neg", call)
        torch.testing.assert_close(norm(negated.resolve_neg(), w, eps=1e-6), reference(-x, w))
        operator = halyard.torch.op("rms_norm")  # torch negates before it calls
        torch.testing.assert_close(operator(negated, w, 1e-6), reference(-x, w))

    def test_opcheck(self):
        for x, w, *more in ((self.x, self.w), (self.x, self.w, 1e-3), (self.x[1:3], self.w), (self.x[:, ::2], self.w[::2]),
                            (self.x[:0], self.w)):
            torch.library.opcheck(self.norm, (x, w, *more))
            self.close(self.norm(x, w, *more), reference(x, w, *more))
        attention = halyard.torch.op("attention")
        q, k, v = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 7, 8), torch.randn(1, 2, 7, 8)
        torch.library.opcheck(attention, (q, k, v))
        torch.testing.assert_close(attention(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v), rtol=1e-4, atol=1e-5)
        both = halyard.torch.op("rms_norm", add_residual=True)
        torch.library.opcheck(both, (torch.randn(3, 16), torch.randn(3, 16), torch.rand(16)))

    def test_compile(self):
        model = Model(self.norm).eval()
        with torch.no_grad():
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
            for x in (self.x, self.x[:2]):
                torch.testing.assert_close(compiled(x), model(x), rtol=0, atol=0)

    def test_export(self):
        model = Model(self.norm).eval()
        with torch.no_grad():
            exported = torch.export.export(model, (self.x,), dynamic_shapes={"x": {0: torch.export.Dim("rows")}})
            file = io.BytesIO()
            torch.export.save(exported, file)
            file.seek(0)
            x = torch.cat([self.x, self.x])
            torch.testing.assert_close(torch.export.load(file).module()(x), model(x), rtol=0, atol=0)

    def test_no_gradient(self):
        x = self.x.clone().requires_grad_()
        for norm in (halyard.op("rms_norm", type="bfloat16"), self.norm):
            with self.assertRaisesRegex(RuntimeError, "no gradient"):
                norm(x, self.w)
            with torch.inference_mode():
                norm(x, self.w)

    def test_one_operator_for_one_request(self):
        self.assertIs(halyard.torch.op("rms_norm", type="bfloat16"), self.norm)
        self.assertIsNot(halyard.torch.op("rms_norm", type="bfloat16", set={"rows": 1}), self.norm)

    def test_errors(self):
        with self.assertRaisesRegex(halyard.Error, "weight"):
            self.norm(self.x, self.w[:3])
        with self.assertRaisesRegex(halyard.Error, "did you mean"):
            halyard.torch.op("rms_nrom")


if __name__ == "__main__":
    unittest.main()
