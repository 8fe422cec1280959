"""halyard explore --workers as a user runs it, on a cluster of two nodes on this machine."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import local_cluster

local_cluster.with_ray()
HALYARD = local_cluster.HALYARD
THREADS = str(min(2, os.cpu_count()))


def setUpModule():
    global cluster
    # Nodes have a device, as far as Ray and the driver there know; the command here has none.
    os.environ["HALYARD_CUDA_DRIVER"] = os.environ.get("HALYARD_EMULATED_DRIVER", "")
    cluster = local_cluster.LocalCluster(devices=1)
    os.environ["HALYARD_CUDA_DRIVER"] = "/there/is/none.so"


def tearDownModule():
    cluster.end()


def text_of(pid, file):
    try:
        with open(f"/proc/{pid}/{file}", encoding="utf-8", errors="replace") as f:
            return f.read().replace("\0", " ")
    except OSError:
        return ""


def processes(part):
    """The command lines that have it, of what was started for this cluster: another test may have its own."""
    lines = {pid: text_of(pid, "cmdline") for pid in filter(str.isdigit, os.listdir("/proc"))}
    return {int(pid): line for pid, line in lines.items()
            if part in line and (cluster.folder in line or f"TMPDIR={cluster.folder} " in text_of(pid, "environ"))}


def programs():
    """What a search has started, on any machine of the cluster."""
    return {**processes("/.halyard-"), **processes("scripts/workers")}


def folders():
    return [name for name in os.listdir(cluster.folder) if name.startswith(".halyard-")]


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Workers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.db, self.lua = os.path.join(folder.name, "s.db"), os.path.join(folder.name, "best.lua")

    def words(self, *more, op="rms_norm", shape="rows=8,cols=256", budget="20s", address=None):
        return [HALYARD, "explore", op, "--shape", shape, "--budget", budget, "--db", self.db, "-o", self.lua,
                "--workers", address or cluster.address, *more]

    def run_words(self, words, **environment):
        return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)

    def explore(self, *more, **place):
        return self.run_words(self.words("--threads", THREADS, *more, **place))

    def records(self, *options, db=None):
        done = self.run_words([HALYARD, "db", "list", "--all", "--json", "--db", db or self.db, *options])
        return json.loads(done.stdout)

    def test_it_tries_and_keeps_what_a_search_here_would(self):
        done = self.explore("--most", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rms_norm: measured on ", done.stderr)
        self.assertIn("The best is db:", done.stderr)
        with open(self.lua, encoding="utf-8") as f:
            self.assertIn('schedule "rms_norm"', f.read())
        here = self.db + ".here"
        words = self.words("--threads", THREADS, "--most", "2", "--report", self.db + ".json")
        del words[words.index("--workers"):words.index("--workers") + 2]
        words[words.index("--db") + 1] = here
        self.assertEqual(self.run_words(words).returncode, 0)

        def keys(records):
            return sorted((json.dumps(r["key"]), r["candidate"]["id"], r["measured"]["status"], r["measured"]["reference"]) for r in records)
        self.assertEqual(keys(self.records()), keys(self.records(db=here)))
        # A build takes it.
        done = self.run_words([HALYARD, "build", "rms_norm", "--target", "host", "--shape", "rows=8,cols=256", "--db", self.db, "-o",
                               self.lua + ".out"])
        self.assertIn("on this machine", done.stderr)
        self.assertTrue(until(lambda: not programs() and not folders(), 10), (programs(), folders()))

    def test_a_device_of_the_cluster(self):
        """Which there is none of here. To compile for the emulator takes long: cluster_test.cpp has what is measured there."""
        words = self.words("--target", "cuda-emulator", op="softmax", shape="rows=2,cols=64", budget="0.1s")
        done = self.run_words(words)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "softmax: measured on the emulated device 0, 132 multiprocessors: .*; ")
        self.assertIn("--budget 0.1s left no time", done.stderr)
        self.assertTrue(until(lambda: not programs() and not folders(), 10), (programs(), folders()))

    def test_only_the_kind_that_is_meant(self):
        done = self.explore("--workers-kind", "a processor of tomorrow", address="auto")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("it has no machine whose name begins with", done.stderr)
        self.assertIn("there are: 2 of ", done.stderr)
        self.assertFalse(os.path.exists(self.lua))

    def test_what_is_missing_is_said(self):
        done = self.explore(address="127.0.0.2:1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no Ray cluster answers at 127.0.0.2:1: Connection refused\n  start one: ", done.stderr)
        without = os.path.join(os.path.dirname(self.db), "python")
        with open(without, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec {local_cluster.PYTHON} -S "$@"\n')
        os.chmod(without, 0o755)
        done = self.run_words(self.words(), HALYARD_WORKERS_PYTHON=without)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("has no Ray", done.stderr)
        self.assertIn("scripts/setup --workers", done.stderr)
        done = self.run_words(self.words(), HALYARD_WORKERS_PYTHON="/there/is/none")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/there/is/none cannot be started", done.stderr)
        done = self.run_words([HALYARD, "explore", "rms_norm", "--target", "host", "--shape", "rows=8,cols=256", "--workers", "auto", "--guess"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("--workers is for a search, and --guess", done.stderr)

    def interrupted(self, number):
        running = subprocess.Popen(self.words("--threads", THREADS, budget="10m"), stderr=subprocess.PIPE, text=True)
        self.assertTrue(until(lambda: processes("/jobs/"), 60))
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
        self.assertEqual(running.returncode, -number, said)
        self.assertTrue(until(lambda: not programs(), 10), (programs(), said))
        self.assertFalse(os.path.exists(self.lua))
        self.records()  # the database can be read

    def test_ctrl_c_leaves_nothing(self):
        self.interrupted(signal.SIGINT)
        self.assertTrue(until(lambda: not folders(), 10), folders())

    def test_nor_does_being_killed(self):
        self.interrupted(signal.SIGKILL)  # its own folder the next command removes

    def test_z_a_machine_that_goes_costs_its_candidate(self):
        """The last one: the cluster is not what it was."""
        running = subprocess.Popen(self.words("--threads", THREADS, "--most", "10"), stderr=subprocess.PIPE, text=True)
        self.assertTrue(until(lambda: processes("/jobs/"), 60))
        cluster.remove_second()
        _, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, said)
        self.assertRegex(said, "[Tt]he best is db:")


if __name__ == "__main__":
    unittest.main()
