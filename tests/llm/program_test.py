"""The program with models of all kinds, with what it cannot do, and with signals.

usage: program_test.py PROGRAM [REAL_MODEL]"""

import os
import pathlib
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
        for options in ((), ("--int8",), ("--temperature", 2, "--seed", 3, "--stop", "e")):
            alone = [run("--model", self.models["llama"], "--prompt", text, "-n", 20, *options).stdout.decode() for text in texts]
            done = run("--model", self.models["llama"], "--parallel", "-", "-n", 20, *options, given="\n\n".join(texts) + "\n")
            self.assertEqual(done.stdout.decode(), "".join(f"[{text}]\n{answer}" for text, answer in zip(texts, alone)), done.stderr)
        self.fails(run("--model", self.models["llama"], "--parallel", "/nowhere"), 1, "/nowhere", "No such file")
        self.fails(run("--model", self.models["llama"], "--parallel", "-", given="\n"), 1, "no line")

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
        self.fails(run("--model", self.models["llama"], "--perplexity", text, "--context", 256 * 256), 1, "less than one chunk")

    def test_explain_counts_what_a_token_reads(self):
        done = run("--model", self.models["llama"], "--explain", "--depth", 10)
        rows = {cells[0]: cells[1:] for cells in ([c.strip() for c in line.split("|")[1:-1]] for line in done.stdout.decode().splitlines()) if cells}
        # Two layers of four products with 20 bytes for 32 weights; rows of f32; 160 inner, 96 wide, keys and values of 32.
        shapes = [(96, 96 + 32 + 32), (96, 96), (96, 160 + 160), (160, 96)]
        more = [0, 96, 0, 96]  # residuals
        self.assertEqual(rows["llm_q4_1"][0], "8")
        self.assertEqual(int(rows["llm_q4_1"][1]), 2 * sum(k * n // 32 * 20 + 4 * (k + n + r) for (k, n), r in zip(shapes, more)))

    def test_usage(self):
        model = self.models["llama"]
        self.fails(run("--prompt", "a"), 2, "--model")
        self.fails(run("--model", model), 2, "--prompt")
        self.fails(run("--model", model, "--prompt", "a", "--bench"), 2, "excludes")
        self.fails(run("--model", model, "--prompt", ""), 1, "without tokens")
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
