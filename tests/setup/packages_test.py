"""scripts/packages: which packages of which name are installed for what, by whom, and what is said where nobody can.

dpkg-query, apt-get, id and sudo are small scripts here; what apt-get was asked for stands in a file.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEMS = {"debian-12": "ID=debian\nVERSION_ID=\"12\"\n", "ubuntu-22.04": "ID=ubuntu\nVERSION_ID=\"22.04\"\nID_LIKE=debian\n",
           "ubuntu-24.04": "ID=ubuntu\nVERSION_ID=\"24.04\"\n", "mint-21": "ID=mint\nVERSION_ID=\"21\"\n"}
PURPOSES = {"build", "tests", "lint", "wheel"}

PROGRAMS = {
    "dpkg-query": 'for last; do :; done; grep -qx "$last" "$FAKES/installed" && echo "install ok installed"',
    "apt-get": 'echo "$(id -u) $*" >>"$FAKES/asked"; [ ! -f "$FAKES/apt-fails" ] || { echo "no network"; exit 100; }',
    "id": 'cat "$FAKES/user"',
    "sudo": '[ -f "$FAKES/sudoer" ] || exit 1; shift; exec "$@"',
}


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        # A checkout of its own, as it writes into .halyard there.
        for part in ("scripts", "third_party", "bin"):
            os.mkdir(self.path(part))
        shutil.copy(os.path.join(ROOT, "scripts/packages"), self.path("scripts"))
        shutil.copy(os.path.join(ROOT, "third_party/packages.txt"), self.path("third_party"))
        for name, text in PROGRAMS.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n")
            os.chmod(self.path(f"bin/{name}"), stat.S_IRWXU)
        self.write("installed", "g++\ncatch2\n")
        self.write("user", "0")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def asked(self):
        """What apt-get was asked to install, and by which user."""
        if not os.path.exists(self.path("asked")):
            return None
        with open(self.path("asked"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        self.assertEqual(lines[0], lines[0].split()[0] + " update")
        return lines[1].split()

    def run_it(self, *arguments, system="debian-12"):
        self.write("os-release", SYSTEMS[system])
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], FAKES=self.folder,
                           HALYARD_OS_RELEASE=self.path("os-release"))
        return subprocess.run([self.path("scripts/packages"), *arguments], env=environment, capture_output=True, text=True, check=False)

    def listed(self, *purposes, system="debian-12"):
        r = self.run_it("--list", *purposes, system=system)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        return r.stdout.split()

    def test_the_table(self):
        names = set()
        with open(os.path.join(ROOT, "third_party/packages.txt"), encoding="utf-8") as f:
            for line in f:
                columns = line.split("#")[0].split()
                if columns:
                    self.assertEqual(len(columns), 4, line)
                    self.assertLessEqual(set(columns[0].split(",")), PURPOSES, line)
                    self.assertNotIn(columns[1], names | {"=", "-"}, line)
                    for name in columns[1:]:
                        self.assertRegex(name, r"^([a-z0-9][a-z0-9+.-]+|=|-)$", line)
                    names.add(columns[1])

    def test_a_demo_needs_nothing_of_the_tests(self):
        build = self.listed("build")
        self.assertIn("libfmt-dev", build)
        for package in ("chromium", "catch2", "llvm-19", "python3-dev", "clang-format", "shellcheck", "zsh"):
            self.assertNotIn(package, build)
            self.assertIn(package, self.listed("build", "tests", "lint"))
        self.assertEqual(self.listed("wheel"), ["python3-dev"])
        self.assertEqual(len(self.listed("tests", "wheel")), len(self.listed("tests")))  # none twice

    def test_who_installs_what(self):
        """Each script asks for what it needs, and CI for all of it."""
        def text(name):
            with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                return f.read()
        self.assertRegex(text("scripts/setup"), r"scripts/packages build ")
        self.assertRegex(text("scripts/test"), r"scripts/setup --tests\n")
        self.assertRegex(text("scripts/check"), r"scripts/packages lint\nscripts/setup --tests")
        self.assertRegex(text("scripts/demo"), r"\nscripts/setup ")
        self.assertNotIn("--tests", text("scripts/demo") + text("scripts/halyard"))
        self.assertTrue(re.search(r"scripts/check\n(exec )?scripts/test", text(".ci/run")))

    def test_names_of_ubuntu(self):
        self.assertNotIn("llvm-19", self.listed("tests", system="ubuntu-22.04"))
        self.assertIn("catch2", self.listed("tests", system="ubuntu-22.04"))
        self.assertIn("clang-format-14", self.listed("lint", system="ubuntu-24.04"))
        self.assertNotIn("clang-format", self.listed("lint", system="ubuntu-24.04"))
        self.assertEqual(self.listed("build", system="mint-21"), self.listed("build"))
        r = self.run_it("tests", system="ubuntu-24.04")
        self.assertIn("ubuntu-24.04 has no package that will do for catch2 chromium", r.stderr)

    def test_root_installs_what_is_missing(self):
        r = self.run_it("build", "tests")
        self.assertEqual(r.returncode, 0, r.stderr)
        asked = self.asked()
        self.assertEqual(asked[:4], ["0", "install", "-y", "--no-install-recommends"])
        self.assertEqual(set(asked[4:]), set(self.listed("build", "tests")) - {"g++", "catch2"})
        self.assertTrue(os.path.exists(self.path(".halyard/packages.stamp")))  # scripts/setup looks at it

    def test_nothing_to_do(self):
        self.write("installed", "\n".join(self.listed("build")))
        self.write("user", "1000")
        r = self.run_it("build")
        self.assertEqual((r.returncode, r.stdout, r.stderr, self.asked()), (0, "", "", None))
        self.assertFalse(os.path.exists(self.path(".halyard")))

    def test_without_root_it_goes_on_and_says_so_in_one_line(self):
        self.write("user", "1000")
        r = self.run_it("build")
        self.assertEqual((r.returncode, self.asked()), (0, None))
        self.assertEqual(r.stderr.count("\n"), 1)
        self.assertRegex(r.stderr, r"^missing, for build; going on without: sudo apt-get install .*\bliblua5.4-dev\b")
        self.assertNotIn("g++", r.stderr)

    def test_sudo_without_a_password_is_taken(self):
        self.write("user", "1000")
        self.write("sudoer", "")
        self.assertEqual(self.run_it("lint").returncode, 0)
        self.assertEqual(self.asked()[4:], self.listed("lint"))

    def test_an_installation_that_fails_is_an_error(self):
        self.write("apt-fails", "")
        r = self.run_it("build")
        self.assertEqual(r.returncode, 1)
        self.assertIn("no network", r.stderr)
        self.assertFalse(os.path.exists(self.path(".halyard/packages.stamp")))

    def test_no_purpose_is_a_mistake(self):
        r = self.run_it()
        self.assertEqual(r.returncode, 2)
        self.assertIn("scripts/packages PURPOSE", r.stderr)


if __name__ == "__main__":
    unittest.main()
