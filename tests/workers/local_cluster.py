"""A Ray cluster of two nodes on this machine, in a folder of its own. Only the loopback is used."""

import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HALYARD_BUILD", os.path.join(ROOT, "build"))
HALYARD = os.path.join(BUILD, "bin", "halyard")
PYTHON = os.path.join(ROOT, ".halyard", "workers", "bin", "python")
SKIPPED = 77
# Not 127.0.0.1, for which Ray takes the address that the machine has in its network.
LOOPBACK = "127.0.0.2"
MEMORY = 80 << 20


def with_ray():
    """Goes on in the Python that has Ray; where there is none the test is skipped."""
    if not os.path.exists(PYTHON):
        print("skipped: there is no .halyard/workers; scripts/setup --workers makes it")
        sys.exit(SKIPPED)
    if os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(PYTHON))):
        os.execv(PYTHON, [PYTHON, *sys.argv])


class LocalCluster:
    def __init__(self, devices=0):
        # Short: the names of Ray's sockets are below it, and have 107 bytes at most.
        self.folder = tempfile.mkdtemp(prefix="hr")
        os.mkdir(os.path.join(self.folder, "ray"))
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_TMPDIR=self.folder, TMPDIR=self.folder)
        tempfile.tempdir = self.folder
        from ray.cluster_utils import Cluster
        node = {"num_cpus": 1, "num_gpus": devices, "include_dashboard": False, "object_store_memory": MEMORY, "node_ip_address": LOOPBACK}
        self.cluster = Cluster(initialize_head=True, head_node_args=node)
        del node["include_dashboard"]
        self.second = self.cluster.add_node(**node)
        self.address = self.cluster.address

    def remove_second(self):
        """As a machine goes whose power does."""
        self.cluster.remove_node(self.second, allow_graceful=False)

    def end(self):
        self.cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)
