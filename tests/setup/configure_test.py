"""When scripts/setup configures build/, with the environment and cmake played by scripts."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ConfigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("packages", "venv"):
            self.program("scripts/" + name, "exit 0")
        shutil.copy(os.path.join(ROOT, "scripts/setup"), self.path("scripts/setup"))
        self.program(".halyard/venv/bin/python", "echo site")
        self.program(".halyard/venv/bin/cmake", "mkdir -p build && touch build/build.ninja asked")
        # What is older than build.ninja.
        for name in ("third_party/requirements.txt", ".halyard/packages.stamp"):
            self.write(name)
            os.utime(self.path(name), (1, 1))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text=""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def program(self, name, text):
        self.write(name, "#!/bin/sh\n" + text + "\n")
        os.chmod(self.path(name), 0o755)

    def configures(self):
        r = subprocess.run([self.path("scripts/setup")], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stdout), (0, ""), r.stderr)
        asked = os.path.exists(self.path("asked"))
        if asked:
            os.remove(self.path("asked"))
        return asked

    def configured_by(self, cmake):
        self.write("build/build.ninja")
        self.write("build/CMakeCache.txt", f"CMAKE_COMMAND:INTERNAL={cmake}\n")

    def test_the_first_time(self):
        self.assertTrue(self.configures())

    def test_nothing_to_do(self):
        self.configured_by(self.path(".halyard/venv/bin/cmake"))
        self.assertFalse(self.configures())

    def test_other_packages(self):
        self.configured_by(self.path(".halyard/venv/bin/cmake"))
        os.utime(self.path("third_party/requirements.txt"))
        os.utime(self.path("build/build.ninja"), (1, 1))
        self.assertTrue(self.configures())

    def test_an_environment_that_is_gone(self):
        """build.ninja is newer than the list of packages, as ninja wrote it anew in between."""
        self.configured_by(self.path(".halyard/venv-0123456789ab/bin/cmake"))
        self.assertTrue(self.configures())


if __name__ == "__main__":
    unittest.main()
