"""The sentence encoder in the libraries that bench.py measures: its inputs, and a class for each peer."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCES = os.path.join(HERE, "..", "data", "sentences.txt")


def make_input(case, model):
    """(ids, mask) as int64 arrays; mask is None where every token counts."""
    import numpy as np
    batch, tokens = case.split("x")
    batch = int(batch)
    if tokens == "natural":
        from tokenizers import Tokenizer
        tokenizer = Tokenizer.from_file(os.path.join(find_model(model), "tokenizer.json"))
        tokenizer.enable_truncation(max_length=256)
        tokenizer.no_padding()
        with open(SENTENCES, encoding="utf-8", newline="\n") as f:
            rows = [tokenizer.encode(s).ids for s in f.read().split("\n")[:batch]]
        longest = max(map(len, rows))
        ids = np.array([r + [0] * (longest - len(r)) for r in rows], np.int64)
        mask = np.array([[1] * len(r) + [0] * (longest - len(r)) for r in rows], np.int64)
        return ids, mask
    tokens = int(tokens)
    ids = (1000 + np.arange(batch * tokens, dtype=np.int64) * 7919 % 20000).reshape(batch, tokens)
    ids[:, 0] = 101
    ids[:, -1] = 102
    return ids, None


def find_model(path):
    for folder, _, files in os.walk(path):
        if "model.safetensors" in files:
            return folder
    sys.exit(f"no model.safetensors in or below {path}")


# ---- the peers ----------------------------------------------------------------------------
# prepare(case) returns a dict of variants: name -> function without arguments that
# returns the embeddings. The worker times each briefly and goes on with the fastest.

class Torch:
    def __init__(self, args):
        import torch
        self.torch = torch
        torch.set_num_threads(args.threads)
        sys.path.insert(0, HERE)
        import bert
        self.model_path = args.model
        self.model = bert.Bert(bert.load_weights(args.model)).eval()
        if args.type == "bf16":
            self.model = self.model.to(torch.bfloat16)
        self.device = args.device
        self.model = self.model.to(self.device)

    def about(self):
        t = self.torch
        if self.device != "cpu":
            return f"torch {t.__version__}, {t.cuda.get_device_name()}"
        return f"torch {t.__version__}, {t.backends.cpu.get_cpu_capability()}, {t.get_num_threads()} threads"

    def call(self, model, case):
        torch = self.torch
        inputs = [torch.from_numpy(a) for a in make_input(case, self.model_path) if a is not None]

        def run():
            with torch.no_grad():
                return model(*(i.to(self.device) for i in inputs)).float().cpu().numpy()
        return run

    def prepare(self, case):
        return {"eager": self.call(self.model, case)}


class Compile(Torch):
    def __init__(self, args):
        super().__init__(args)
        import torch._inductor.config as config
        # Freezing (under no_grad) makes the weights constants, packed ahead of the calls.
        # max_autotune with the C++ matrix product templates was tried and is no faster.
        config.freezing = self.device == "cpu"

    def prepare(self, case):
        self.torch._dynamo.reset()
        # On a GPU as CUDA graphs: what the host takes for each kernel would be most of the time.
        variant, mode = ("freezing", None) if self.device == "cpu" else ("graphs", "reduce-overhead")
        run = self.call(self.torch.compile(self.model, dynamic=False, mode=mode), case)
        run()  # compiles
        return {variant: run}


class Onnxruntime:
    def __init__(self, args):
        import onnxruntime
        self.ort = onnxruntime
        self.args = args

    def about(self):
        return f"onnxruntime {self.ort.__version__}"

    def session(self, path, threads):
        options = self.ort.SessionOptions()
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads spin inside a call, where it is faster, and not after it, where others run.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        return self.ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def prepare(self, case):
        ids, mask = make_input(case, self.args.model)
        feed = {"ids": ids} if mask is None else {"ids": ids, "mask": mask}
        variants = {}
        for name in ("plain", "fused"):
            path = os.path.join(self.args.onnx, f"{case}-{name}.onnx")
            if not os.path.exists(path):
                continue
            session = self.session(path, self.args.threads)
            variants[name] = lambda session=session: session.run(None, feed)[0]
        return variants


class Openvino:
    def __init__(self, args):
        import openvino
        self.openvino = openvino
        self.core = openvino.Core()
        self.args = args

    def about(self):
        return f"openvino {self.openvino.__version__}, {self.core.get_property('CPU', 'FULL_DEVICE_NAME')}"

    def prepare(self, case):
        ids, mask = make_input(case, self.args.model)
        inputs = [a for a in (ids, mask) if a is not None]
        variants = {}
        for name in ("plain", "sdpa"):
            model = self.core.read_model(os.path.join(self.args.onnx, f"{case}-{name}.onnx"))
            compiled = self.core.compile_model(model, "CPU", {
                "INFERENCE_PRECISION_HINT": self.args.type,  # else it may choose bf16 where the CPU has it
                "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_NUM_THREADS": self.args.threads,
                "NUM_STREAMS": 1,
            })
            request = compiled.create_infer_request()
            # shared_memory: neither input nor output is copied by the binding
            for i, a in enumerate(inputs):
                request.set_input_tensor(i, self.openvino.Tensor(a, shared_memory=True))
            output = request.get_output_tensor(0)

            def run(request=request, output=output, inputs=inputs, compiled=compiled):
                request.infer()
                return output.data
            variants[name] = run
        return variants


def export(args):
    """Writes CASE-plain.onnx, CASE-sdpa.onnx and CASE-fused.onnx, of static shapes, to args.onnx.

    In a process of its own, so that onnxruntime's and OpenVINO's workers hold no torch."""
    import torch
    sys.path.insert(0, HERE)
    import bert
    weights = bert.load_weights(args.model)
    for case in args.cases.split(","):
        inputs = [torch.from_numpy(a) for a in make_input(case, args.model) if a is not None]
        for name in ("plain", "sdpa"):
            path = os.path.join(args.onnx, f"{case}-{name}.onnx")
            # dynamo=False: the exporter that needs no onnxscript
            torch.onnx.export(bert.Bert(weights, spelled=name == "plain").eval(), tuple(inputs), path,
                              input_names=["ids", "mask"][:len(inputs)], output_names=["embedding"],
                              opset_version=17, dynamo=False)
        from onnxruntime.transformers import optimizer
        fused = optimizer.optimize_model(os.path.join(args.onnx, f"{case}-plain.onnx"), model_type="bert",
                                         num_heads=bert.HEADS, hidden_size=bert.WIDTH, opt_level=1)
        print(case, fused.get_fused_operator_statistics(), file=sys.stderr)
        fused.save_model_to_file(os.path.join(args.onnx, f"{case}-fused.onnx"))


PEERS = {"torch": Torch, "compile": Compile, "onnxruntime": Onnxruntime, "openvino": Openvino}
