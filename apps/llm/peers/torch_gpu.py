"""Times a Llama of a GGUF file by torch.compile with CUDA graphs, in bfloat16, and by llama.cpp, beside llm_cuda: a prompt of 512 tokens, 128
generated ones.

    python3 apps/llm/peers/torch_gpu.py PROGRAM MODEL [--llama FOLDER] [--rounds N] [--depth N] [--json OUT] [--record LABEL --name MODEL]

They take turns. FOLDER has llama-bench (build_llama --cuda), which has all layers on the device and flash attention on. Weights in torch are dequantised to bfloat16; keys and values have room for the tokens that a test has. Each token is
waited for, and not sampled in either. With --record the middle rates are kept for docs/performance.md, as a run of this label.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "llm"))
import record  # noqa: E402
from gguf_file import read  # noqa: E402


class Llama:
    def __init__(self, path, room):
        keys, tensors = read(path)
        arch = keys["general.architecture"].decode()
        if arch != "llama":
            sys.exit(f"{path}: this peer computes Llama, and not {arch}")
        key = lambda name, otherwise=None: keys.get(f"{arch}.{name}", otherwise)
        self.layers, self.heads, self.key_heads = key("block_count"), key("attention.head_count"), key("attention.head_count_kv")
        self.width = key("embedding_length") // self.heads
        self.eps = key("attention.layer_norm_rms_epsilon")
        self.room = room
        on_device = lambda name: torch.tensor(tensors[name], dtype=torch.bfloat16, device="cuda")
        self.words = on_device("token_embd.weight")
        self.head = on_device("output.weight") if "output.weight" in tensors else self.words
        self.norm_out = on_device("output_norm.weight")
        self.blocks = []
        for i in range(self.layers):
            b = lambda name, block=i: on_device(f"blk.{block}.{name}.weight")
            self.blocks.append({
                "norm": b("attn_norm"), "qkv": torch.cat([b("attn_q"), b("attn_k"), b("attn_v")]), "out": b("attn_output"),
                "ffn_norm": b("ffn_norm"), "gate_up": torch.cat([b("ffn_gate"), b("ffn_up")]), "down": b("ffn_down"),
                "k": torch.zeros(1, self.key_heads, room, self.width, dtype=torch.bfloat16, device="cuda"),
                "v": torch.zeros(1, self.key_heads, room, self.width, dtype=torch.bfloat16, device="cuda")})
        for block in self.blocks:  # which a graph may write
            for cache in (block["k"], block["v"]):
                torch._dynamo.mark_static_address(cache)
        frequencies = key("rope.freq_base", 10000.0) ** (-2 * torch.arange(self.width // 2, device="cuda") / self.width)
        angles = torch.arange(room, device="cuda")[:, None] * frequencies
        self.cos, self.sin = angles.cos(), angles.sin()

    def turn(self, x, at):  # [tokens, heads, width], neighbours
        cos, sin = self.cos[at][:, None], self.sin[at][:, None]
        a, b = x[..., 0::2].float(), x[..., 1::2].float()
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2).to(x.dtype)

    def step(self, tokens, at):
        """Logits of the last token."""
        x = self.words[tokens]
        n, q_heads = tokens.shape[0], self.heads
        mask = torch.arange(self.room, device="cuda")[None, :] <= at[:, None]
        for b in self.blocks:
            h = F.rms_norm(x, x.shape[-1:], b["norm"], self.eps)
            qkv = (h @ b["qkv"].T).view(n, q_heads + 2 * self.key_heads, self.width)
            q, k, v = qkv.split((q_heads, self.key_heads, self.key_heads), 1)
            q, k = self.turn(q, at), self.turn(k, at)
            b["k"].index_copy_(2, at, k.transpose(0, 1)[None])
            b["v"].index_copy_(2, at, v.transpose(0, 1)[None])
            y = F.scaled_dot_product_attention(q.transpose(0, 1)[None], b["k"], b["v"], attn_mask=mask, enable_gqa=True)
            x = x + y[0].transpose(0, 1).reshape(n, -1) @ b["out"].T
            h = F.rms_norm(x, x.shape[-1:], b["ffn_norm"], self.eps)
            gate, up = (h @ b["gate_up"].T).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ b["down"].T
        return F.rms_norm(x[-1:], x.shape[-1:], self.norm_out, self.eps) @ self.head.T


def torch_rates(model, prompt, generated, depth, compiled):
    with torch.inference_mode():
        tokens = torch.arange(max(prompt, generated), device="cuda") * 7919 % model.words.shape[0]
        rates = {}
        for name, count, parts in (("pp", prompt, 1), ("tg", generated, generated)):
            n = count // parts
            for timed in (False, False, True):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for i in range(parts):
                    at = torch.arange(depth + i * n, depth + (i + 1) * n, device="cuda")
                    compiled(tokens[i * n:(i + 1) * n], at)
                    torch.cuda.synchronize()
                if timed:
                    rates[name] = count / (time.perf_counter() - begin)
        return rates


def our_rates(program, path, prompt, generated, depth):
    command = [program, "--model", path, "--bench", "--prompt-tokens", str(prompt), "--generated-tokens", str(generated), "--repetitions", "3",
               *(["--depth", str(depth)] if depth else [])]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {program} failed:\n{done.stderr[-2000:]}")
    return {test: float(rate) for test, rate in re.findall(r"\| (pp|tg)\d+(?: @ d\d+)? *\| *([0-9.]+)", done.stdout)}


def llama_rates(folder, path, prompt, generated, depth):
    command = [folder / "llama-bench", "-m", path, "-p", prompt, "-n", generated, "-d", depth, "-ngl", 99, "-fa", 1, "-r", 5, "-o", "json"]
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} failed:\n{done.stderr[-2000:]}")
    return {"pp" if test["n_prompt"] else "tg": statistics.median(test["samples_ts"]) for test in json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--llama", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--record", metavar="LABEL", help="of the machine")
    parser.add_argument("--name", help="of the model, in that record")
    args = parser.parse_args()
    prompt, generated = 512, 128
    model = Llama(args.model, args.depth + prompt)
    compiled = torch.compile(model.step, mode="reduce-overhead", fullgraph=True, dynamic=False)
    contestants = {"llm_cuda": lambda: our_rates(args.program, args.model, prompt, generated, args.depth),
                   "torch.compile": lambda: torch_rates(model, prompt, generated, args.depth, compiled)}
    if args.llama:
        contestants["llama.cpp"] = lambda: llama_rates(args.llama, args.model, prompt, generated, args.depth)
    all_rates = {who: [] for who in contestants}
    for _ in range(args.rounds):
        for who, rates in contestants.items():
            all_rates[who].append(rates())
    middle = {who: {test: statistics.median(r[test] for r in rates) for test in ("pp", "tg")} for who, rates in all_rates.items()}
    for test in ("pp", "tg"):
        ours = middle["llm_cuda"][test]
        peers = ", ".join(f"{who} {rates[test]:.0f} ({ours / rates[test]:.2f})" for who, rates in middle.items() if who != "llm_cuda")
        print(f"{test}: llm_cuda {ours:.0f} tokens a second, {peers}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"device": torch.cuda.get_device_name(), "depth": args.depth, "rates": all_rates}))
    if args.record:
        rows = [record.row(args.name or pathlib.Path(args.model).stem, record.test_name(test, {"pp": prompt, "tg": generated}[test], args.depth), "f32 rows",
                           "", middle["llm_cuda"][test], {who: rates[test] for who, rates in middle.items() if who != "llm_cuda"})
                for test in ("pp", "tg")]
        print(record.write(args.record, torch.cuda.get_device_name(), f"torch {torch.__version__}, torch.compile with CUDA graphs, bf16",
                           "apps/llm/peers/torch_gpu.py", "", rows))


main()
