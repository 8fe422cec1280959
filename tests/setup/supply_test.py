"""The pins: every wheel that people ask for has its hash, and no index is named. The bill of materials has all of them."""

import json
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(name):
    with open(os.path.join(ROOT, "third_party", name), encoding="utf-8") as f:
        return f.read()


def wanted(name):
    lines = [line.split("#")[0].strip() for line in read(name + ".in").splitlines()]
    return [line for line in lines if line]


def wheels(name):
    """{name==version: hashes}; a line of another form is an error."""
    found = {}
    for line in read(name + ".txt").replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            pin, *hashes = line.split()
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", pin), line
            assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in hashes), line
            found[pin] = [h.split(":")[1] for h in hashes]
    return found


class Supply(unittest.TestCase):
    def test_what_is_asked_for_has_hashes(self):
        for name in ("requirements", "models", "peers", "workers"):
            with self.subTest(name):
                self.assertTrue(wanted(name))
                self.assertEqual(set(wanted(name)) - set(wheels(name)), set(), "run scripts/pins")

    def test_what_is_installed_without_dependencies_is_what_is_asked_for(self):
        self.assertEqual(set(wheels("requirements")), set(wanted("requirements")), "run scripts/pins")

    def test_the_pythons_of_ubuntu_have_the_same_versions(self):
        tests_alone = {pin for pin in wanted("requirements") if pin.split("==")[0] in ("numpy", "ml_dtypes")}
        for version in ("3.10", "3.12"):
            with self.subTest(version):
                has = set(wheels(f"requirements-{version}"))
                self.assertEqual(has - set(wanted("requirements")), set(), "run scripts/pins")
                self.assertEqual(set(wanted("requirements")) - has - tests_alone, set(), "run scripts/pins")

    def test_models_are_read_by_the_same_versions_everywhere(self):
        self.assertEqual(set(wheels("models-3.10")), set(wheels("models")), "run scripts/pins")
        self.assertEqual(set(wheels("models-3.12")), set(wheels("models")), "run scripts/pins")

    def test_no_index_is_named(self):
        for name in ("requirements.in", "requirements.txt", "requirements-3.10.txt", "requirements-3.12.txt", "peers.in", "peers.txt",
                     "workers.in", "workers.txt", "models.in", "models.txt", "models-3.10.txt", "models-3.12.txt"):
            self.assertNotRegex(read(name), r"://|--(extra-)?index|--find-links")

    def test_the_bill_of_materials_has_every_wheel_and_package(self):
        run = [subprocess.run([os.path.join(ROOT, "scripts/sbom"), "--peers", "--workers"], stdout=subprocess.PIPE, check=True, cwd=cwd).stdout
               for cwd in ("/", ROOT)]
        self.assertEqual(*run)
        bill = json.loads(run[0])
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        parts = {c["bom-ref"]: c for c in bill["components"]}
        self.assertEqual(len(parts), len(bill["components"]))
        hashes = {f"{c['name']}=={c['version']}": [h["content"] for h in c["hashes"]] for c in parts.values() if "hashes" in c}
        self.assertEqual(hashes, {**wheels("workers"), **wheels("peers"), **wheels("models"), **wheels("requirements")})
        packages = {c["name"] for c in parts.values() if c["purl"].startswith("pkg:deb/")}
        for line in read("packages.txt").splitlines():
            if columns := line.split("#")[0].split():
                self.assertIn(columns[1], packages)
        self.assertIn("libc6", packages)  # nobody asks for it by name
        for edge in bill["dependencies"]:
            self.assertEqual(set(edge["dependsOn"]) - set(parts), set())
        self.assertIn("licenses", parts["pkg:deb/debian/catch2@" + next(c["version"] for c in parts.values() if c["name"] == "catch2")
                                        + "?arch=amd64"])


if __name__ == "__main__":
    unittest.main()
