"""scripts/halyard, ended by a signal to its process alone while it builds or waits for a build: nothing is left and nothing runs on.

ninja and the command are small scripts here.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Wrapper(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("scripts", "build/bin", ".halyard/venv/bin", "tmp"):
            os.makedirs(self.path(name))
        shutil.copy(os.path.join(ROOT, "scripts/halyard"), self.path("scripts/halyard"))
        self.write("build/build.ninja", "")
        self.write("build/bin/halyard", "#!/bin/sh\necho ran \"$@\"\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def ninja(self, text):
        self.write(".halyard/venv/bin/ninja", "#!/bin/sh\n" + text)

    def start(self):
        return subprocess.Popen(
            [self.path("scripts/halyard"), "list"],
            env=dict(os.environ, TMPDIR=self.path("tmp")),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, holds, what):
        end = time.time() + 10
        while not holds():
            self.assertLess(time.time(), end, what)
            time.sleep(0.01)

    def test_it_builds_and_runs(self):
        self.ninja("echo built\n")
        out, err = self.start().communicate(timeout=10)
        self.assertEqual((out, err), ("ran list\n", ""))
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_a_build_that_fails_is_told(self):
        self.ninja("echo wrong; exit 1\n")
        process = self.start()
        out, err = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(out, "")
        self.assertEqual(err, "wrong\nerror: the halyard command does not build; see above\n")

    def test_signals_while_it_builds(self):
        started = self.path("started")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.ninja(f"echo $$ >{started}.part; mv {started}.part {started}; exec sleep 60\n")
                process = self.start()
                self.wait_for(lambda: os.path.exists(started), "no build began")
                with open(started) as file:
                    build = int(file.read())
                os.remove(started)
                process.send_signal(number)
                out, _ = process.communicate(timeout=10)
                self.assertEqual(process.returncode, -number)
                self.assertEqual(out, "")
                self.assertEqual(os.listdir(self.path("tmp")), [])
                self.wait_for(lambda place=f"/proc/{build}": not os.path.exists(place), "the build runs on")

    def test_signals_while_it_waits_for_another_build(self):
        self.ninja("exit 0\n")
        with subprocess.Popen(["flock", self.path("build/.halyard.lock"), "sleep", "60"], start_new_session=True) as other:
            try:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    with self.subTest(number):
                        process = self.start()
                        children = f"/proc/{process.pid}/task/{process.pid}/children"
                        self.wait_for(lambda place=children: self.waits(place), "it does not wait")
                        process.send_signal(number)
                        process.communicate(timeout=10)
                        self.assertEqual(process.returncode, -number)
                        self.assertEqual(os.listdir(self.path("tmp")), [])
            finally:
                os.killpg(other.pid, signal.SIGKILL)

    def waits(self, children):
        try:
            with open(children) as file:
                pids = file.read().split()
            return any(self.text(f"/proc/{pid}/cmdline") == "flock\0009\0" for pid in pids)
        except OSError:
            return False

    @staticmethod
    def text(path):
        with open(path) as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
