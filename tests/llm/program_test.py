"""The program with models of all kinds, with what it cannot do, and with signals.

usage: program_test.py PROGRAM [REAL_MODEL]"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    from tiny import MODELS, write_tiny
except ImportError:
    print("numpy is not installed: scripts/setup brings it for Python 3.11")
    sys.exit(77)

PROGRAM = sys.argv[1]
REAL = sys.argv[2] if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else None


def run(*arguments, given=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=given.encode(), capture_output=True, check=False, timeout=120)


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.models = {}
        for name in MODELS:
            cls.models[name] = pathlib.Path(cls.folder.name) / f"{name}.gguf"
            write_tiny(cls.models[name], name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fails(self, run, code, *words):
        self.assertEqual((run.returncode, run.stdout), (code, b""), run.stderr)
        for word in words:
            self.assertIn(word, run.stderr.decode())

    def test_text_of_every_kind_of_model_is_utf8(self):
        for name, path in self.models.items():
            with self.subTest(name):
                done = run("--model", path, "--prompt", "the user", "-n", 40, "--temperature", 3, "--seed", 5)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(done.stdout.decode()), 3)

    def test_rows_in_8_bits(self):
        text = run("--model", self.models["llama"], "--prompt", "the user", "-n", 40, "--int8").stdout
        self.assertGreater(len(text), 3)
        done = run("--model", self.models["llama"], "--explain", "--int8")
        self.assertIn(b"llm_int8_q4_1", done.stdout)

    def test_the_same_seed_is_the_same_text(self):
        texts = [run("--model", self.models["llama"], "--prompt", "a", "-n", 30, "--temperature", 2, "--top-k", 40, "--top-p", 0.9, "--seed", seed).stdout
                 for seed in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_threads_do_not_change_a_text(self):
        texts = {run("--model", self.models["llama"], "--prompt", "the user in", "-n", 30, "--threads", n).stdout for n in (1, 2, 3)}
        self.assertEqual(len(texts), 1)

    def test_a_stop_string_ends_a_text(self):
        whole = run("--model", self.models["llama"], "--prompt", "a", "-n", 30, "--temperature", 2).stdout.decode().rstrip("\n")
        at = next(i for i in range(3, len(whole)) if whole[i:i + 2].isascii() and whole[i:i + 2].isprintable())
        stop = whole[at:at + 2]
        cut = run("--model", self.models["llama"], "--prompt", "a", "-n", 30, "--temperature", 2, "--stop", stop).stdout.decode().rstrip("\n")
        self.assertEqual(cut, whole[:whole.index(stop)])

    def test_a_context_that_is_full_ends_a_text(self):
        self.assertEqual(run("--model", self.models["qwen2"], "--prompt", "a", "--context", 20).returncode, 0)
        self.fails(run("--model", self.models["qwen2"], "--prompt", "x" * 30, "--context", 20), 1, "do not fit")
        self.fails(run("--model", self.models["qwen2"], "--prompt", "x", "--context", 257), 1, "made for 256")

    def test_texts_in_one_batch_are_those_that_each_has_alone(self):
        texts = ["the user in", "a", "you the ing 1 2 " * 20]
        for options in ((), ("--int8",), ("--cache", "int8"), ("--temperature", 2, "--seed", 3, "--stop", "e")):
            alone = [run("--model", self.models["llama"], "--prompt", text, "-n", 20, *options).stdout.decode() for text in texts]
            done = run("--model", self.models["llama"], "--parallel", "-", "-n", 20, *options, given="\n\n".join(texts) + "\n")
            self.assertEqual(done.stdout.decode(), "".join(f"[{text}]\n{answer}" for text, answer in zip(texts, alone)), done.stderr)
        # Blocks of 256 have other kernels for 12 rows and more.
        path, text = self.models["k_quants"], "a the user in you the ing 1 2"
        alone = run("--model", path, "--prompt", text, "-n", 5, "--int8").stdout.decode()
        done = run("--model", path, "--parallel", "-", "-n", 5, "--int8", given=f"a\n{text}\n")
        self.assertTrue(done.stdout.decode().endswith(f"[{text}]\n{alone}"), done.stderr)
        self.fails(run("--model", self.models["llama"], "--parallel", "/nowhere"), 1, "/nowhere", "No such file")
        self.fails(run("--model", self.models["llama"], "--parallel", "-", given="\n"), 1, "no line")
        self.fails(run("--model", self.models["llama"], "--parallel", "/dev/zero"), 1, "64 MiB")
        self.fails(run("--model", self.models["llama"], "--parallel", "-", given="\n" * (65 << 20)), 1, "64 MiB")
        self.fails(run("--model", self.models["llama"], "--chat", given="a" * (65 << 20)), 1, "64 MiB")

    def test_tokens(self):
        done = run("--model", self.models["llama"], "--tokens", "<|im_start|>the 1")
        self.assertEqual([line.split("\t")[1] for line in done.stdout.decode().splitlines()], ["<|im_start|>", "the", " ", "1"])

    def test_a_conversation(self):
        done = run("--model", self.models["llama"], "--chat", "-n", 5, given="the user\n\nyou\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(done.stdout.count(b"\n"), 2)
        self.fails(run("--model", self.models["gemma3"], "--chat", given="a\n"), 1, "template of conversations")

    def test_perplexity_and_bench(self):
        text = pathlib.Path(self.folder.name) / "text"
        text.write_text("the user in a the ing 1 2 " * 30)
        done = run("--model", self.models["llama"], "--perplexity", text, "--context", 64)
        self.assertRegex(done.stdout.decode(), r"perplexity \d+\.\d+ \+/- ")
        done = run("--model", self.models["llama"], "--perplexity", text)
        self.assertRegex(done.stdout.decode(), "in [0-9]+ chunks of 256")  # for which the model was made
        done = run("--model", self.models["llama"], "--bench", "--prompt-tokens", 20, "--generated-tokens", 3, "--depth", 5, "--repetitions", 1)
        self.assertRegex(done.stdout.decode(), r"(?s)\| pp20 @ d5 .*\| tg3 @ d5 ")
        done = run("--model", self.models["llama"], "--bench", "--prompt-tokens", 0, "--generated-tokens", 3)
        self.assertNotIn(b"pp", done.stdout)
        self.fails(run("--model", self.models["llama"], "--perplexity", text, "--context", 256 * 256), 1, "less than one chunk")

    def explained(self, *options):
        """By op: kernel, calls, bytes of weights and of the cache, bytes between steps, operations."""
        done = run("--model", self.models["llama"], "--explain", "--depth", 10, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [[c.strip() for c in line.split("|")[1:-1]] for line in done.stdout.decode().splitlines()]
        return {cells[0]: (cells[1], *map(int, cells[2:6])) for cells in lines if len(cells) > 6 and cells[2].isdigit()}

    def test_explain_counts_what_a_token_reads_and_computes(self):
        # Two layers with 20 bytes for 32 weights; rows of f32; 160 inner, 96 wide, 6 heads, keys and values of 32.
        products = {"q, k, v": (96, 96 + 32 + 32, 1), "attention's output": (96, 96, 2), "gate, up": (96, 160 + 160, 1), "down": (160, 96, 2)}
        keys = 10 + 4 + 32  # of the last token
        rows, rounded, small = self.explained(), self.explained("--int8"), self.explained("--cache", "int8")
        weights = 0
        for op, (k, n, arrays) in products.items():  # with a residual two arrays of n
            read = 2 * k * n // 32 * 20
            self.assertEqual(rows[op], ("llm_q4_1", 2, read, 2 * 4 * (k + arrays * n), 2 * 2 * k * n))
            self.assertEqual(rounded[op][:3], ("llm_int8_q4_1", 2, read))
            weights += read
        self.assertEqual(rows["attention"], ("llm_decode_attention", 2, 2 * 2 * 4 * keys * 32, 2 * 4 * 2 * 96, 2 * 4 * keys * 96))
        self.assertEqual(rounded["attention"][2], rows["attention"][2] // 2)
        self.assertEqual(small["attention"][2], 2 * 2 * keys * (32 + 4 * 2))
        self.assertEqual(rows["all"][2], weights + rows["head"][2] + rows["attention"][2])

    def test_unfused_kernels_do_the_same_with_more_traffic(self):
        text = pathlib.Path(self.folder.name) / "same"
        text.write_text("the user in a the ing 1 2 " * 30)

        def perplexity(name, *options):
            done = run("--model", self.models[name], "--perplexity", text, "--context", 64, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return float(re.search(r"perplexity ([0-9.]+)", done.stdout.decode()).group(1))

        # Bias, QK-norm, windows, GELU, and each kind of blocks; generation goes by other kernels than a prompt.
        for name in self.models:
            with self.subTest(name):
                self.assertAlmostEqual(perplexity(name, "--kernels", "unfused") / perplexity(name), 1, delta=2e-4)
        # What differs by an epsilon may be rounded to another of 255 numbers.
        self.assertAlmostEqual(perplexity("llama3", "--kernels", "unfused", "--int8") / perplexity("llama3", "--int8", "--cache", "f32"),
                               1, delta=4e-3)
        texts = {run("--model", self.models["llama"], "--prompt", "the user in", "-n", 30, "--kernels", k).stdout for k in ("fused", "unfused")}
        self.assertEqual(len(texts), 1)
        fused, unfused = self.explained(), self.explained("--kernels", "unfused")
        self.assertEqual(unfused["q, k, v"][:2], ("llm_unfused_q4_1", 6))
        self.assertEqual(unfused["all"][2], fused["all"][2])
        self.assertGreater(unfused["all"][3], 2 * fused["all"][3])
        self.fails(run("--model", self.models["llama"], "--prompt", "a", "--kernels", "unfused", "--cache", "f16"), 1, "f32, and not in f16")

    def test_other_weights(self):
        for weights in ("f32", "bf16"):
            for kernels, library in (("fused", f"llm_{weights}"), ("unfused", f"llm_unfused_{weights}")):
                self.assertEqual(self.explained("--weights", weights, "--kernels", kernels)["q, k, v"][0], library)
        self.fails(run("--model", self.models["llama"], "--prompt", "a", "--weights", "bf16", "--int8"), 2, "--int8")
        self.fails(run("--model", self.models["llama"], "--prompt", "a", "--weights", "q4_0"), 2, "--weights")

    def test_caches_of_fewer_bytes(self):
        texts = []
        for cache in ("f32", "f16", "bf16", "int8"):
            done = run("--model", self.models["gemma3"], "--prompt", "a tea he", "-n", 20, "--cache", cache)
            self.assertEqual(done.returncode, 0, done.stderr)
            texts.append(done.stdout)
        self.assertEqual(texts[0], texts[1])
        self.fails(run("--model", self.models["llama"], "--prompt", "a", "--cache", "f8"), 2, "--cache")

    def test_usage(self):
        model = self.models["llama"]
        self.fails(run("--prompt", "a"), 2, "--model")
        self.fails(run("--model", model), 2, "--prompt")
        self.fails(run("--model", model, "--prompt", "a", "--bench"), 2, "excludes")
        # What would have no effect.
        for of_texts in (("--limit", 3), ("--stop", "x"), ("--temperature", 1), ("--top-k", 2), ("--top-p", 0.5), ("--seed", 1), ("--report",)):
            for mode in (("--bench",), ("--explain",), ("--tokens", "a"), ("--perplexity", model)):
                self.fails(run("--model", model, *of_texts, *mode), 2, "excludes", of_texts[0], mode[0])
        for mode in (("--prompt", "a"), ("--chat",), ("--tokens", "a"), ("--perplexity", model), ("--parallel", "-")):
            self.fails(run("--model", model, "--depth", 5, *mode), 2, "excludes", "--depth", mode[0])
        for mode in (("--bench",), ("--explain",), ("--tokens", "a")):
            self.fails(run("--model", model, "--context", 64, *mode), 2, "excludes", "--context", mode[0])
        self.fails(run("--model", model, "--prompt", ""), 1, "without tokens")
        mute = pathlib.Path(self.folder.name) / "mute.gguf"  # a vocabulary of which no text has a token
        write_tiny(mute, "llama", change=lambda keys, _: keys.update({"tokenizer.ggml.tokens": [""] * len(keys["tokenizer.ggml.tokens"])}))
        lines = pathlib.Path(self.folder.name) / "lines"
        lines.write_text("a\n")
        for texts in (("--prompt", "a"), ("--chat", "--prompt", "a"), ("--parallel", lines), ("--parallel", lines, "--chat")):
            self.fails(run("--model", mute, *texts), 1, "without tokens")
        self.fails(run("--model", model, "--prompt", "a", "--top-p", 0), 1, "top-p")
        self.fails(run("--model", "/nowhere", "--prompt", "a"), 1, "/nowhere", "No such file")
        self.fails(run("--model", self.folder.name, "--prompt", "a"), 1, "not a regular file")
        cut = pathlib.Path(self.folder.name) / "cut.gguf"
        cut.write_bytes(model.read_bytes()[:-100])
        self.fails(run("--model", cut, "--prompt", "a"), 1, "get the model again")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--model", model, "--prompt", "a", "-n", "5"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot be written", done.stderr)

    def test_a_second_ctrl_c_ends_the_program_whatever_it_waits_for(self):
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:  # nobody reads what it writes
            while True:
                os.write(writing, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(writing, True)
        talk = subprocess.Popen([PROGRAM, "--model", self.models["llama"], "--prompt", "a"], stdout=writing)
        try:
            until = time.monotonic() + 5  # where the kernel does not say what a process waits for
            while "pipe" not in pathlib.Path(f"/proc/{talk.pid}/wchan").read_text() and time.monotonic() < until and talk.poll() is None:
                time.sleep(0.02)
            talk.send_signal(signal.SIGINT)
            time.sleep(0.2)
            self.assertIsNone(talk.poll())
            talk.send_signal(signal.SIGINT)
            self.assertEqual(talk.wait(60), 130)
        finally:
            talk.kill()
            talk.wait()
            os.close(reading)
            os.close(writing)

    def test_a_file_that_becomes_shorter_is_an_error(self):
        path = pathlib.Path(self.folder.name) / "cut off.gguf"
        path.write_bytes(self.models["llama"].read_bytes())
        with subprocess.Popen([PROGRAM, "--model", path, "--chat", "-n", "5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as program:
            program.stdin.write(b"the user\n")
            program.stdin.flush()
            program.stdout.read(1)  # the model is read
            os.truncate(path, 64)
            said = program.communicate(b"the user\n" * 3, timeout=60)[1].decode()
        self.assertEqual(program.returncode, 1, said)
        self.assertIn("cut off.gguf: has become shorter while it was read", said)

    @unittest.skipUnless(REAL, "scripts/setup brings the model")
    def test_ctrl_c_ends_an_answer_and_not_the_conversation(self):
        talk = subprocess.Popen([PROGRAM, "--model", REAL, "--chat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(talk.stdout.fileno(), False)

        def wait_for_text():
            got, until = b"", time.monotonic() + 60
            while time.monotonic() < until and len(got) < 20:
                got += talk.stdout.read() or b""
                time.sleep(0.02)
            return got

        talk.stdin.write(b"Write a very long story about a cat.\n")
        talk.stdin.flush()
        self.assertGreaterEqual(len(wait_for_text()), 20)
        talk.send_signal(signal.SIGINT)
        talk.stdin.write(b"What is the capital of France?\n")
        talk.stdin.close()
        os.set_blocking(talk.stdout.fileno(), True)
        rest = talk.stdout.read()
        talk.stdout.close()
        self.assertEqual(talk.wait(60), 0)
        # What it says depends on where the story ended, which is never the same.
        story, _, answer = rest.partition(b"\n")
        self.assertLess(len(story), 2000)
        self.assertGreater(len(answer.strip()), 0)

    @unittest.skipUnless(REAL, "scripts/setup brings the model")
    def test_a_real_model_answers(self):
        done = run("--model", REAL, "--chat", "--prompt", "What is the capital of France?", "-n", 20)
        self.assertIn(b"Paris", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
