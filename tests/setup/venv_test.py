"""scripts/venv, killed before each of its commands in turn: what was there stays whole, and the next run finishes it.

Python is a small script here that makes an environment of two files, at once. What is asked is of the order of things, not
of pip.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PYTHON = f"""#!/bin/sh
# python3 --version | -m venv FOLDER | -m pip install ... -r REQUIREMENTS | - LINK PLACE
case "$1 $2" in
"--version ") echo "Python 3.11.0" ;;
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip")
    case "$*" in *--require-hashes*) ;; *) exit 1 ;; esac
    while [ $# -gt 1 ]; do shift; done
    folder=$(dirname "$(dirname "$0")")
    cp "$1" "$folder/first" && cp "$1" "$folder/second" ;;
*) exec {sys.executable} "$@" ;;
esac
"""

# Bash reads this before a script, and asks it before each command.
KILLER = "n=0\ntrap '[ $((n += 1)) -ne \"$KILL_AT\" ] || kill -9 $$' DEBUG\n"


class Venv(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.path("bin"))
        self.write("bin/python3", PYTHON)
        os.chmod(self.path("bin/python3"), stat.S_IRWXU)
        self.write("killer", KILLER)
        for version in ("old", "new"):
            self.write(version + ".txt", version)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def make(self, version, kill_at=0):
        """The exit status of a run that is killed before so many commands."""
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        if kill_at:
            environment.update(BASH_ENV=self.path("killer"), KILL_AT=str(kill_at))
        return subprocess.run(["bash", os.path.join(ROOT, "scripts/venv"), self.path("here/venv"), self.path(version + ".txt")],
                              env=environment, stderr=subprocess.DEVNULL, check=False).returncode

    def found(self):
        """Which version stands there: None where there is nothing, "damaged" where it is not whole."""
        place = self.path("here/venv")
        if not os.path.lexists(place):
            return None
        texts = []
        for name in ("first", "second"):
            try:
                with open(os.path.join(place, name), encoding="utf-8") as f:
                    texts.append(f.read())
            except OSError:
                return "damaged"
        return texts[0] if texts[0] == texts[1] else "damaged"

    def check(self, prepare, before):
        kill_at, found = 0, set()
        while True:
            kill_at += 1
            shutil.rmtree(self.path("here"), ignore_errors=True)
            os.mkdir(self.path("here"))
            prepare()
            self.assertEqual(self.found(), before)
            status = self.make("new", kill_at)
            found.add(self.found())
            self.assertIn(self.found(), (before, "new"), f"killed before command {kill_at}")
            if status == 0:
                break
            self.assertEqual(status, -9)
            self.assertEqual(self.make("new"), 0)
            self.assertEqual(self.found(), "new", f"after a run killed before command {kill_at}")
            names = os.listdir(self.path("here"))
            self.assertEqual(sorted(n[:5] for n in names), ["venv", "venv-", "venv."], names)
        self.assertGreater(kill_at, 15)
        self.assertEqual(found, {before, "new"})

    def test_where_there_is_none(self):
        self.check(lambda: None, None)

    def test_in_place_of_one_of_other_requirements(self):
        self.check(lambda: self.make("old"), "old")

    def test_in_place_of_a_folder(self):
        def folder():
            os.mkdir(self.path("here/venv"))
            for name in ("first", "second"):
                self.write("here/venv/" + name, "old")
        self.check(folder, "old")

    def test_an_environment_that_is_there_stays(self):
        os.mkdir(self.path("here"))
        self.assertEqual(self.make("old"), 0)
        before = os.stat(self.path("here/venv/first")).st_ino
        self.assertEqual(self.make("old"), 0)
        self.assertEqual(os.stat(self.path("here/venv/first")).st_ino, before)

    def test_wheels_that_are_not_there_are_an_error(self):
        os.mkdir(self.path("here"))
        self.assertEqual(self.make("old"), 0)
        self.assertNotEqual(self.make("missing"), 0)
        self.assertEqual(self.found(), "old")


if __name__ == "__main__":
    unittest.main()
