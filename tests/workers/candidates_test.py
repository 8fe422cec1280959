"""Brings up a cluster for workers_test (cluster_test.cpp): what candidates do there, and machines that are killed."""

import os
import subprocess
import sys

import local_cluster

local_cluster.with_ray()
secrets = {"HALYARD_SECRET": "secret", "HALYARD_VICTIM": "victim"}
for variable, name in secrets.items():  # for a candidate that tries to reach them: nodes take them over
    os.environ[variable] = os.path.join("/tmp", f"halyard-workers-test-{os.getpid()}-{name}")
with open(os.environ["HALYARD_SECRET"], "w", encoding="utf-8") as f:
    f.write("of the user")
os.environ["HALYARD_CUDA_DRIVER"] = os.environ.get("HALYARD_EMULATED_DRIVER", "")
cluster = local_cluster.LocalCluster(devices=1)
try:
    code = subprocess.run([os.path.join(local_cluster.BUILD, "tests", "workers", "workers_test"), *(sys.argv[1:] or ["[cluster]"])],
                          env={**os.environ, "HALYARD_TEST_CLUSTER": cluster.address, "HALYARD_CUDA_DRIVER": "/there/is/none.so"}).returncode
finally:
    cluster.end()
    for variable in secrets:
        if os.path.exists(os.environ[variable]):
            os.remove(os.environ[variable])
sys.exit(code)
