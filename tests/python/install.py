"""Packs build/ as a wheel, checks what the wheel says of itself, and installs it into an environment of its own.

  install.py FOLDER

What it depends on is taken from .halyard, where scripts/setup has put it, and is no neighbour of the package there.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def site_packages(environment):
    return environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def check(wheel):
    """The name, what is in it, and that nothing in it names a folder of this machine where a user would meet it."""
    assert re.fullmatch(r"halyard-[0-9.]+-cp310-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name), wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for wanted in ("halyard/bin/halyard", "halyard/lib/libhalyard.so", "halyard/_native.abi3.so", "halyard/torch.py",
                       "halyard/lib/halyard/libhalyard_runtime.so.0", "halyard/share/halyard/schedules/cpu/rms_norm.lua"):
            assert wanted in names, wanted
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
        for need in ("halide==", "llvmlite=="):
            assert f"Requires-Dist: {need}" in metadata, metadata
        for name in names:
            assert "/.halyard/" not in name and ".pyc" not in name, name


def check_interrupted():
    """What is half done goes, whatever ends it but SIGKILL."""
    with tempfile.TemporaryDirectory() as folder:
        output, scratch = pathlib.Path(folder, "dist"), pathlib.Path(folder, "scratch")
        scratch.mkdir()
        running = subprocess.Popen([ROOT / "scripts" / "wheel", "--no-build", "-o", output], env={**os.environ, "TMPDIR": str(scratch)},
                                   stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        while running.poll() is None and not list(output.glob("*.part")):
            time.sleep(0.01)
        running.send_signal(signal.SIGHUP)
        assert running.wait() == 128 + signal.SIGHUP, running.returncode
        left = [*scratch.iterdir(), *output.iterdir()]
        assert not left, left


def main():
    environment = pathlib.Path(sys.argv[1])
    output = environment.parent / "dist"
    wheel = pathlib.Path(subprocess.run([ROOT / "scripts" / "wheel", "--no-build", "-o", output], check=True, stdout=subprocess.PIPE,
                                        text=True).stdout.strip())
    check(wheel)
    first = wheel.read_bytes()
    subprocess.run([ROOT / "scripts" / "wheel", "--no-build", "-o", output], check=True, stdout=subprocess.DEVNULL)
    assert wheel.read_bytes() == first, "the same build gives another wheel"
    check_interrupted()
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", environment], check=True)
    pip = [ROOT / ".halyard" / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "--python", environment / "bin" / "python", "install", "--no-index", "--no-deps", wheel], check=True)
    dependencies = [site_packages(ROOT / ".halyard" / name) for name in ("venv", "peers")]
    (site_packages(environment) / "dependencies.pth").write_text("".join(f"{os.path.realpath(d)}\n" for d in dependencies if d.is_dir()))


main()
