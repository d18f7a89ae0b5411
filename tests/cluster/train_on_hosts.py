#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway run --hostfile` on a played cluster: the digest of one host, the workers in their places, and clear words
when a host is not ready.

    GANGWAY_BIN=build/release/bin train_on_hosts.py [unittest arguments]        exit code 77: this machine plays no cluster
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import FOLDER, RUN, inside, main  # noqa: E402
from other_build import OTHER, build_id, copy_programs  # noqa: E402
from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
SMALL = ["training.kimg=5", "training.microbatches=4", "output.pictures_kimg=0"]
HOSTFILE = '"$GANGWAY_CLUSTER_HOSTFILE"'
ENVIRONMENT = 6


def run_line(run, workers, *arguments, hostfile=HOSTFILE):
    """`gangway run` of the small job, for a shell in a cluster."""
    return " ".join([GANGWAY, "run", str(RING), "-n", str(workers), "--hostfile", hostfile, "--run", run, *SMALL,
                     *arguments])


def places(file):
    """(host, first micro-batch) of every worker, in the order of ranks; the coordinator's host."""
    coordinator, *workers = json.loads(file.read_text())["ranks"]
    return [(worker["host"], worker["microbatches"][0]) for worker in workers], coordinator["host"]


class OnHosts(Trainings):
    def call_inside(self, hosts, script):
        return self.call(RUN, hosts, "1gbit", "--", *inside(script))

    def placement(self, run):
        return places(next((self.folder / "runs").glob(f"*-{run}")) / "placement.json")


class Digests(OnHosts):
    def sent_mib(self, run):
        path = next((self.folder / "runs").glob(f"*-{run}")) / "stats.jsonl"
        return json.loads(path.read_text().splitlines()[-1])["sent_mib_per_step"]

    def test_are_those_of_one_host_in_every_layout(self):
        self.train(RING, *SMALL, run="one", workers=1)
        (self.folder / "two").write_text("host1\nhost2\n")
        exchanged = ("layout.overlap=none", "layout.check_steps=0", "checkpoint.snapshot_steps=0")  # and nothing beside
        code, out, err = self.call_inside("2x2", " && ".join([
            run_line("data", 4), run_line("together", 2, *exchanged, hostfile="two"),
            run_line("apart", 2, *exchanged, "layout.generator='[1]'", "layout.discriminator='[2]'", hostfile="two"),
            run_line("stages", 4, "layout.stages=2", "--verbose")]))
        self.assertEqual(code, 0, out + err)
        for run in ("data", "together", "apart", "stages"):
            self.assertEqual(self.digest(run), self.digest("one"), run)
        self.assertRegex(out, r"(?m)^net    workers reach the coordinator at 10\.77\.0\.1 \(eth0\), port \d+$")
        # Workers of a host hold adjacent micro-batches.
        self.assertEqual(self.placement("data"), ([("host1", 0), ("host1", 1), ("host2", 2), ("host2", 3)], "host1"))
        self.assertLess(self.sent_mib("apart"), self.sent_mib("together") / 10, "points in the place of gradients")
        self.assertIn("--mca btl_tcp_sndbuf ", out)

    def test_stay_when_a_run_goes_on_with_other_hosts(self):
        self.train(RING, *SMALL, "training.kimg=15", run="one", workers=1)
        (self.folder / "two").write_text("host2  # slots=7\nhost1\n")
        (self.folder / "second").write_text("host1 slots=0\nhost2 slots=2\n")
        placement = "cp runs/*-moves/placement.json"
        code, out, err = self.call_inside("3", " && ".join([
            run_line("moves", 3), run_line("moves", 2, "training.kimg=10", hostfile="two"), f"{placement} two.json",
            run_line("moves", 2, "training.kimg=15", hostfile="second"), f"{placement} second.json"]))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("moves"), self.digest("one"))
        # The coordinator takes no worker's slot, whatever the order of the hosts, and may have a host without slots for itself.
        self.assertEqual(places(self.folder / "two.json"), ([("host1", 0), ("host2", 2)], "host1"))
        self.assertEqual(places(self.folder / "second.json"), ([("host2", 0), ("host2", 2)], "host1"))


class Tuned(OnHosts):
    def test_trials_run_on_all_hosts_with_as_many_workers_as_there_are_slots(self):
        (self.folder / "job.yaml").write_text(RING.read_text())
        code, out, err = self.call_inside(
            "3", f"{GANGWAY} tune job.yaml {' '.join(SMALL)} --hostfile {HOSTFILE} --seconds 0.1 --anyway")
        self.assertEqual(code, 0, out + err)
        self.assertIn("as typed: ", out)
        record = json.loads((self.folder / "job.tuned.json").read_text())
        self.assertEqual(record["typed"]["workers"], 3)
        tried = {trial["workers"] for trial in record["tried"]}
        self.assertGreater(len(tried), 1, "no layouts of a plan")
        self.assertEqual(max(tried), 3)
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [], "left behind")


class Refusals(OnHosts):
    """Two hosts of one name: tests/launch/host_check_test.cpp; a worker of another build: tests/distributed/builds.py."""

    def test_name_the_host_that_is_not_ready(self):
        (self.folder / "runs").mkdir()
        other = copy_programs(self.folder / "other", ("gangway", "gangway-coordinator", "gangway-worker"))
        programs = PROGRAMS.resolve()
        cases = (("mount -t tmpfs tmpfs runs", "umount -l runs",
                  r"gangway: host2: \S+/runs/00000-a is not the folder that the first host sees: put the runs"),
                 (f"mount -t tmpfs tmpfs {programs}", f"umount -l {programs}", r"gangway: mpirun does not start ranks on all hosts"),
                 (f"mount --bind {other} {programs}", f"umount -l {programs}",
                  rf"gangway: host2: \S+/gangway is of build {OTHER}, on the first host it is of {build_id()}: "
                  "install one build on all hosts"))
        script = "".join(f"on host2 {fault} && {{ {run_line('a', 2)} >said{number} 2>&1; echo $?; on host2 {repair}; }}\n"
                         for number, (fault, repair, _) in enumerate(cases))
        code, out, err = self.call_inside("2", script)
        self.assertEqual((code, out.split()), (0, [str(ENVIRONMENT)] * len(cases)), out + err)
        for number, (_, _, message) in enumerate(cases):
            said = (self.folder / f"said{number}").read_text()
            self.assertRegex(said, message)
            self.assertNotIn("tick", said)


if __name__ == "__main__":
    main()
