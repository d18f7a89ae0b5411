#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of `gangway init` are valid for Slurm's shell, Kubernetes and container builders.

    GANGWAY_BIN=build/release/bin manifests.py      with .venv's Python: PyYAML, dockerfile-parse
"""
import contextlib
import io
import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import dockerfile_parse
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools.init import command  # noqa: E402

os.environ["GANGWAY_BIN"] = os.path.abspath(os.environ["GANGWAY_BIN"])
RING = str(ROOT / "examples/ring8.yaml")
RING_OF_FOUR = (RING, "training.microbatches=4")
CONFIG = 2

# Existing fields, by kind of object. MPIJob: manifests/base/kubeflow.org_mpijobs.yaml of
# github.com/kubeflow/mpi-operator at caa3c47 (v2beta1). Others: the core API, v1, which that file repeats.
FIELDS = {
    "MPIJob": {"apiVersion": str, "kind": str, "metadata": "Metadata", "spec": "MPIJobSpec"},
    "MPIJobSpec": {"slotsPerWorker": int, "runLauncherAsWorker": bool, "runPolicy": "RunPolicy", "mpiReplicaSpecs": "Replicas",
                   "sshAuthMountPath": str, "launcherCreationPolicy": {"AtStartup", "WaitForWorkersReady"},
                   "mpiImplementation": {"OpenMPI", "Intel", "MPICH"}},
    "RunPolicy": {"activeDeadlineSeconds": int, "backoffLimit": int, "cleanPodPolicy": {"None", "Running", "All"},
                  "managedBy": str, "schedulingPolicy": dict, "suspend": bool, "ttlSecondsAfterFinished": int},
    "Replicas": {"Launcher": "Replica", "Worker": "Replica"},
    "Replica": {"replicas": int, "restartPolicy": {"Always", "OnFailure", "Never", "ExitCode"}, "template": "Template"},
    "Template": {"metadata": "Metadata", "spec": "PodSpec"},
    "Metadata": {"name": str, "annotations": dict, "labels": dict},
    "PodSpec": {"terminationGracePeriodSeconds": int, "securityContext": "PodSecurity", "containers": ["Container"],
                "automountServiceAccountToken": bool, "volumes": ["Volume"], "nodeSelector": dict, "priorityClassName": str},
    "PodSecurity": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int, "seccompProfile": "Seccomp"},
    "Seccomp": {"type": {"RuntimeDefault", "Unconfined", "Localhost"}, "localhostProfile": str},
    "ContainerSecurity": {"allowPrivilegeEscalation": bool, "capabilities": "Capabilities", "privileged": bool,
                          "readOnlyRootFilesystem": bool, "runAsNonRoot": bool, "runAsUser": int},
    "Capabilities": {"add": [str], "drop": [str]},
    "Container": {"name": str, "image": str, "command": [str], "args": [str], "env": [dict], "resources": "Resources",
                  "volumeMounts": ["Mount"], "livenessProbe": "Probe", "readinessProbe": "Probe", "startupProbe": "Probe",
                  "lifecycle": "Lifecycle", "securityContext": "ContainerSecurity"},
    "Resources": {"requests": "Quantities", "limits": "Quantities"},
    "Quantities": {"cpu": str, "memory": str, "storage": str, "nvidia.com/gpu": str},
    "Mount": {"name": str, "mountPath": str},
    "Volume": {"name": str, "configMap": dict, "persistentVolumeClaim": dict, "emptyDir": "EmptyDir"},
    "EmptyDir": {"medium": {"Memory"}, "sizeLimit": str},
    "Probe": {"exec": "Exec", "tcpSocket": dict, "httpGet": dict, "initialDelaySeconds": int, "periodSeconds": int,
              "timeoutSeconds": int, "failureThreshold": int},
    "Exec": {"command": [str]},
    "Lifecycle": {"preStop": "Handler", "postStart": "Handler"},
    "Handler": {"exec": "Exec"},
    "PersistentVolumeClaim": {"apiVersion": str, "kind": str, "metadata": "Metadata", "spec": "ClaimSpec"},
    "ClaimSpec": {"accessModes": [str], "resources": "Resources", "storageClassName": str},
    "NetworkPolicy": {"apiVersion": str, "kind": str, "metadata": "Metadata", "spec": "NetworkPolicySpec"},
    "NetworkPolicySpec": {"podSelector": "Selector", "policyTypes": [{"Ingress", "Egress"}], "ingress": ["Ingress"]},
    "Ingress": {"from": ["Peer"], "ports": [dict]},
    "Peer": {"podSelector": "Selector", "namespaceSelector": "Selector", "ipBlock": dict},
    "Selector": {"matchLabels": dict, "matchExpressions": [dict]},
    "ConfigMap": {"apiVersion": str, "kind": str, "metadata": "Metadata", "data": dict},
}
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(m|Mi|Gi)?")


def faults(value, kind, place):
    """Returns the places where `value` differs from FIELDS of `kind`."""
    if isinstance(kind, list):
        return [f for i, one in enumerate(value) for f in faults(one, kind[0], f"{place}[{i}]")] if isinstance(
            value, list) else [f"{place}: no list"]
    if isinstance(kind, set):
        return [] if value in kind else [f"{place}: {value}"]
    if isinstance(kind, type):
        return [] if type(value) is kind else [f"{place}: {value!r} is no {kind.__name__}"]
    found = []
    for name, inner in value.items():
        if name not in FIELDS[kind]:
            found.append(f"{place}.{name}: unknown")
        elif kind == "Quantities":
            found += [] if QUANTITY.fullmatch(str(inner)) else [f"{place}.{name}: {inner}"]
        else:
            found += faults(inner, FIELDS[kind][name], f"{place}.{name}")
    return found


def init(*words, code=0, folder=None):
    """Calls it in this process, because starting an interpreter takes a third of a second. init_job.py runs the program."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(folder or "."):
        try:
            command([*map(str, words)])
        except Failed as error:
            assert error.code == code, error.line
            return f"gangway: {error.line}\n"
    assert code == 0, out.getvalue()
    return out.getvalue()


class Kubernetes(unittest.TestCase):
    def documents(self, *words):
        return list(yaml.safe_load_all(init("k8s", *words, "-o", "-")))

    def test_names_only_fields_that_there_are(self):
        for words in ((*RING_OF_FOUR, "-n", "4", "--nodes", "2"),
                      (RING, "training.microbatches=16", "numerics.device=cuda", "--nodes", "2", "--gpus-per-node", "8", "--time", "2-0"),
                      (ROOT / "examples/fashion-mnist.yaml", "--run", "Mine_1")):
            for document in self.documents(*words):
                self.assertEqual(faults(document, document["kind"], document["kind"]), [])
                self.assertTrue(LABEL.fullmatch(document["metadata"]["name"]))

    def test_a_misspelt_field_is_found(self):
        *_, job = self.documents(RING)
        job["spec"]["runPolicy"]["cleanPods"] = "All"
        job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = "2"
        self.assertEqual(len(faults(job, "MPIJob", "")), 2)

    def test_hangs_together(self):
        config, claim, network, job = self.documents(*RING_OF_FOUR, "-n", "4", "--nodes", "2", "--grace", "77")
        self.assertEqual(config["data"]["job.yaml"].rstrip(), Path(RING).read_text().rstrip())
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteMany"])
        own = {"matchLabels": {"training.kubeflow.org/job-name": job["metadata"]["name"]}}  # as the operator marks its pods
        self.assertEqual(network["spec"]["podSelector"], own)
        self.assertEqual(network["spec"]["ingress"], [{"from": [{"podSelector": own}]}])
        replicas = job["spec"]["mpiReplicaSpecs"]
        self.assertEqual((job["spec"]["slotsPerWorker"], replicas["Worker"]["replicas"]), (2, 2))
        for replica in replicas.values():
            pod = replica["template"]["spec"]
            self.assertEqual(pod["terminationGracePeriodSeconds"], 77)
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            self.assertEqual(volumes["runs"]["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])
            self.assertEqual(volumes["job"]["configMap"]["name"], config["metadata"]["name"])
            for container in pod["containers"]:
                self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, set(volumes))

    def test_a_restricted_namespace_takes_the_pods(self):
        """Checks kubernetes.io/docs/concepts/security/pod-security-standards, "Restricted"."""
        *_, job = self.documents(RING, "-n", "2")
        for replica in job["spec"]["mpiReplicaSpecs"].values():
            pod = replica["template"]["spec"]
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertFalse(pod["automountServiceAccountToken"])
            for volume in pod["volumes"]:
                self.assertLessEqual(set(volume), {"name", "configMap", "persistentVolumeClaim", "emptyDir"})
            for container in pod["containers"]:
                self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
                self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})

    def test_the_launcher_has_the_memory_of_what_scores_beside_it(self):
        def memory(*words):
            *_, job = self.documents(RING, "-n", "2", *words)
            container, = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
            return int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
        scores = "evaluation.every_kimg=1"
        self.assertEqual(memory(scores) - memory(), 4096)
        self.assertEqual(memory(scores, "evaluation.where=spare"), memory())
        self.assertIn("the launcher's pod, where scores are taken, has no GPU", init(
            "k8s", RING, "numerics.device=cuda", "--gpus-per-node", "2", "-n", "2", scores, "evaluation.where=device", code=CONFIG))

    def test_the_launchers_words_are_a_script(self):
        *_, job = self.documents(RING, "-n", "2")
        container, = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
        subprocess.run(["bash", "-n", "-c", *container["args"]], check=True)
        self.assertIn("--hostfile /tmp/hostfile", container["args"][0])

    def test_the_launcher_tries_again_what_may_come_right_and_nothing_else(self):
        *_, job = self.documents(RING, "-n", "2")
        container, = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
        for code, tries in ((0, 2), (3, 2), (75, 2), (2, 1), (4, 1), (5, 1)):
            with self.subTest(code=code), tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                (place / "hostfile").write_text("worker-0 slots=1\n")
                (place / "gangway").write_text(f"#!/bin/sh\necho tried >>{place}/tries\nexit {code}\n")
                (place / "gangway").chmod(0o755)
                words = container["args"][0]
                for there, here in (("/etc/mpi/hostfile", "hostfile"), ("/tmp/hostfile", "all"), ("/dev/shm/", "")):
                    self.assertIn(there, words)
                    words = words.replace(there, f"{place}/{here}")
                for _ in range(2):
                    ended = subprocess.run(["bash", "-c", words], env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"},
                                           capture_output=True, text=True, timeout=30, check=False)
                    self.assertEqual(ended.returncode, code, ended.stderr)
                self.assertEqual((place / "tries").read_text().count("tried"), tries)
                self.assertEqual("delete this job and apply it anew" in ended.stdout, tries == 1)


class Slurm(unittest.TestCase):
    def test_is_a_script_with_options_that_sbatch_knows(self):
        text = init("slurm", RING, "-n", "2", "--time", "90", "-o", "-")
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        options = re.findall(r"^#SBATCH --([a-z-]+)", text, re.MULTILINE)
        self.assertIn("requeue", options)
        self.assertLessEqual(set(options), {"job-name", "nodes", "no-kill", "ntasks-per-node", "cpus-per-task", "mem", "gpus-per-node",
                                            "time", "chdir", "output", "open-mode", "requeue", "signal"})
        self.assertNotIn("No limit", text)

    def test_says_what_nodes_have_to_share_and_runs_where_it_was_made(self):
        with tempfile.TemporaryDirectory() as folder:
            text = init("slurm", RING, "data.source=images:photos.zip", "model.family=dcgan", "model.resolution=32", "-o", "-",
                        folder=folder)
            place = os.path.realpath(folder)
        self.assertIn(f"\n#SBATCH --chdir={place}\n", text)
        self.assertIn("under Slurm: sbatch FILE\n", text)
        self.assertRegex(text, rf"(?m)^# Every node has to see, under the same names: .*ring8.yaml, {place}/photos.zip, {place}/runs$")
        self.assertIn("\n#SBATCH --cpus-per-task=2\n", text)  # one core computes, one decodes
        self.assertIn("--time 12:00:00 asks", text)


class Containers(unittest.TestCase):
    def parsed(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            init("docker", *words, folder=folder)
            parser = dockerfile_parse.DockerfileParser(folder)
            return [(step["instruction"], step["value"]) for step in parser.structure if step["instruction"] != "COMMENT"]

    def test_has_two_stages_and_ends_as_a_user_of_its_own(self):
        steps = self.parsed(RING)
        self.assertEqual([value for name, value in steps if name == "FROM"], ["debian:12 AS build", "debian:12-slim"])
        self.assertIn(("USER", "1000"), steps)
        self.assertIn(("COPY", "--from=build /opt/gangway/build/wheel/ /tmp/wheel/"), steps)
        known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT", "CMD"}
        self.assertLessEqual({name for name, _ in steps}, known)
        self.assertFalse([value for name, value in steps if name == "ENV" and re.search("token|secret|password", value, re.I)])

    def test_its_steps_are_scripts_and_its_targets_exist(self):
        targets = "".join(path.read_text() for pattern in ("*/CMakeLists.txt", "*/*/CMakeLists.txt")
                          for path in ROOT.glob(pattern) if "build" not in path.parts)
        for words in ((RING,), (RING, "numerics.device=cuda")):
            for name, value in self.parsed(*words):
                if name == "RUN":
                    subprocess.run(["sh", "-n"], input=value, text=True, check=True)
                for script in re.findall(r"(?:\.|/opt/gangway)/(launch/[a-z-]+)", value) if name == "RUN" else ():
                    self.assertTrue(os.access(ROOT / script, os.X_OK), script)
                for target in re.findall(r" (gangway(?:-[a-z]+)*)", value) if "launch/build" in value else ():
                    self.assertRegex(targets, rf"(gangway_program|add_library)\({target}\s")


class Files(unittest.TestCase):
    def test_are_not_written_over_unless_told(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("a.sbatch: look it over, then: sbatch a.sbatch", init("slurm", RING, "--run", "a", folder=folder))
            mine = Path(folder, "a.sbatch")
            mine.write_text("mine")
            self.assertIn("a.sbatch is there already: --force", init("slurm", RING, "--run", "a", folder=folder, code=CONFIG))
            self.assertEqual(mine.read_text(), "mine")
            init("slurm", RING, "--run", "a", "--force", folder=folder)
            self.assertIn("#SBATCH", mine.read_text())

    def test_complaints_are_one_line(self):
        for words in (("slurm", RING, "--nodes", "3", "-n", "2"), ("k8s", RING, "-n", "2", "--gpus-per-node", "1"),
                      ("slurm", RING, "--time", "soon"), ("slurm", RING, "-n", "1000"), ("helm", RING), ("slurm", "none.yaml")):
            with self.subTest(words):
                self.assertRegex(init(*words, code=CONFIG), r"\Agangway: [^\n]+\n\Z")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
