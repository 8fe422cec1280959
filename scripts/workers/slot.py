"""What runs on another machine: a folder with the program that measures, and a conversation with it.

The class travels to machines that have Ray but not Halyard, so that it uses Python's own library alone.
"""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile


class Slot:
    def __init__(self, program, settings):
        """`program` maps names below a folder to bytes: bin/halyard, and the libraries that it needs."""
        # Named and locked as the command's own temporary folders are (scripts/kernel/process.cpp): one that a killed process
        # leaves is removed by the next.
        self.folder = tempfile.mkdtemp(prefix=".halyard-")
        lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._write(program, 0o755)
        environment = {k: v for k, v in os.environ.items() if k not in ("HALYARD_ROOT", "HALYARD_DB", "HALYARD_CONFINE")}
        libraries = [os.path.join(self.folder, "lib"), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
        environment.update(settings, LD_LIBRARY_PATH=os.pathsep.join(libraries), HALYARD_CACHE=os.path.join(self.folder, "cache"))
        command = [os.path.join(self.folder, "bin", "halyard"), "worker", self.folder, str(os.getpid())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment, pass_fds=[lock], start_new_session=True)
        os.close(lock)  # the program has it, and removes the folder when it ends
        self.facts = self._hear()

    def about(self):
        return {**json.loads(self.facts), "pid": os.getpid(), "host": socket.gethostname()}

    def do(self, request, files):
        """`files` maps names below the folder to bytes; what the program answers."""
        self._write(files, 0o644)
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self._hear()

    def _write(self, files, mode):
        for name, data in files.items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)
            os.chmod(path, mode)

    def _hear(self):
        line = self.process.stdout.readline()
        if line:
            return line
        code = self.process.wait()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        complaint = self.process.stderr.read()[-2000:].strip()
        if not os.path.exists(os.path.join(self.folder, "bin")):
            complaint = complaint or "its folder is gone"
        shutil.rmtree(self.folder, ignore_errors=True)
        raise RuntimeError(f"the program that measures {how}" + (f": {complaint}" if complaint else ""))
