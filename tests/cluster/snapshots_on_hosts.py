#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of a run on several hosts. After all processes are killed, or one host is lost, the next start resumes from the
hosts' memory, to the digest of an undisturbed run.

    GANGWAY_BIN=build/release/bin snapshots_on_hosts.py [unittest arguments]        exit code 77: no cluster can be emulated
"""
import os
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import RUN, inside, main  # noqa: E402
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402
from train_command import PROGRAMS as PROGRAMS_FOLDER  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
JOB = ["training.kimg=40", "training.microbatches=6", "training.batch=96", "output.pictures_kimg=0", "output.tick_kimg=1",
       "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=5"]
# Launchers and ranks of all hosts; the kernel truncates names.
PROGRAMS = "gangway|mpirun|prterun|orted|prted|gangway-coordin|gangway-worker"
KILL_ALL = f"pkill -KILL -x '{PROGRAMS}'; while pgrep -x '{PROGRAMS}' >/dev/null; do sleep 0.02; done"



# Prints the process id of a rank of the run.
PID = """
import json, sys
from pathlib import Path
placement = next(Path("runs").glob("*-a")) / "placement.json"
print(json.loads(placement.read_text())["ranks"][int(sys.argv[1])]["pid"])
"""
WIPE = "on host{} sh -c 'rm /dev/shm/gangway.snap-*'; "
# Overwrites a part of each own snapshot of this host's workers.
DAMAGE = """
from pathlib import Path
for slot in Path("/dev/shm").glob("gangway.snap-*-r0-*"):
    content = bytearray(slot.read_bytes())
    content[-3 * 4096:-3 * 4096 + 6] = b"damage"
    slot.write_bytes(content)
"""


class OnHosts(Trainings):
    def setUp(self):
        super().setUp()
        (self.folder / "damage.py").write_text(DAMAGE)
        self.whole = self.digest_alone(RING, *self.job)

    job = JOB
    tick = 15
    gangway = GANGWAY

    def start(self, name, workers, hosts, slots=1, words=()):
        """Returns the shell command of a start of the run; its output goes to the file `name`."""
        (self.folder / f"{name}.hosts").write_text("".join(f"{host} slots={slots}\n" for host in hosts))
        return " ".join([self.gangway, "run", str(RING), "-n", str(workers), "--hostfile", f"{name}.hosts", "--run", "a", *self.job,
                         *words, f">{name} 2>&1"])

    def play(self, cluster, first, fault, second):
        """Disturbs the first start some steps after other hosts have copies."""
        script = f'''
            {self.start("first", *first)} & job=$!
            until grep -q "^tick {self.tick} " first; do kill -0 $job || exit 1; sleep 0.02; done
            {fault}
            {self.start("second", *second)}'''
        code, out, err = self.call(RUN, cluster, "1gbit", "--", *inside(script))
        said = {name: (self.folder / name).read_text() for name in ("first", "second") if (self.folder / name).exists()}
        self.assertEqual(code, 0, "\n".join([*said.values(), out, err]))
        return said

    def assert_resumed(self, said):
        self.assertRegex(said["second"], r"resume snapshot of step \d+ that the run left", said["first"] + said["second"][:3000])
        self.assertEqual(self.digest("a"), self.whole, said["second"])


class Snapshots(OnHosts):
    def test_all_killed_at_once_go_on_from_the_memory_of_the_same_hosts(self):
        two = (2, ["host1", "host2"])
        self.assert_resumed(self.play("2", two, KILL_ALL, two))

    def test_parts_travel_where_the_next_start_has_other_workers(self):
        hosts = ["host1", "host2"]
        self.assert_resumed(self.play("2x2", (3, hosts, 2), KILL_ALL, (4, hosts, 2)))

    def test_a_lost_host_is_made_up_for_by_the_copies_of_its_buddy(self):
        said = self.play("3", (3, ["host1", "host2", "host3"]), "crash host2; wait $job", (2, ["host1", "host3"]))
        self.assertRegex(said["first"], r"root cause\s+rank 2 \(host host2")
        self.assert_resumed(said)

    def test_a_part_that_is_damaged_in_memory_is_named_and_its_copy_taken(self):
        two = (2, ["host1", "host2"])
        said = self.play("2", two, f"{KILL_ALL}; on host2 {sys.executable} damage.py", two)
        self.assertRegex(said["second"], r"warn  rank 2 \(host host2, pid \d+\): \S+-r0-s\d\S*: damaged snapshot of step \d+: '"
                                         r"\S+' is not what its hash says; a copy or an older state is used")
        self.assert_resumed(said)

    def test_a_run_that_fails_leaves_its_snapshots_on_the_disk_for_other_hosts(self):
        hosts = ["host1", "host2"]
        fault = "on host2 pkill -KILL -x -n gangway-worker; wait $job; " + WIPE.format(1) + WIPE.format(2)
        said = self.play("2x2", (3, hosts, 2), fault, (2, hosts, 2))
        self.assertRegex(said["first"], r"kept   the snapshot of step \d+, as far as this host has it, in \S+/snapshots")
        self.assert_resumed(said)

    def test_a_run_that_gives_up_for_want_of_workers_has_the_hosts_that_are_left_keep_theirs(self):
        hosts = ["host1", "host2"]
        said = self.play("2", (2, hosts, 1, ("layout.restarts=auto", "layout.min_workers=2")), "crash host2; wait $job; " + WIPE.format(1),
                         (1, ["host1"]))
        self.assertRegex(said["first"], r"gangway: given up: too few workers are left \(layout\.min_workers\)")
        self.assertRegex(said["first"], r"(?m)^kept   \d+ snapshot files of host host1 in \S+/snapshots$")
        self.assert_resumed(said)

    def test_without_a_host_and_its_buddy_the_last_checkpoint_is_taken(self):
        saves = ("checkpoint.every_kimg=4",)
        said = self.play("3", (3, ["host1", "host2", "host3"], 1, saves), f"crash host2; crash host3; {KILL_ALL}",
                         (1, ["host1"], 1, saves))
        self.assertRegex(said["second"], r"note  a newer snapshot, of step \d+, is incomplete: no host of this start has the "
                                         r"part of rank [1-3] of 3")
        self.assertRegex(said["second"], r"resume step-\d+")
        self.assertEqual(self.digest("a"), self.whole, said["second"])

class Kept(OnHosts):
    """Lets a run fail, wipes its hosts' memory, and slows their disk, so that storing the snapshots takes longer than a launcher
    would wait for hanging processes."""

    job = [*JOB, "training.kimg=24"]
    wait_ms = 1200  # for each sync of up to 8 MiB
    tick = 15

    def setUp(self):
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        shutil.copy(GANGWAY, programs / "gangway")
        for name in ("gangway-coordinator", "gangway-worker"):
            (programs / name).write_text(f"#!/bin/sh\nLD_PRELOAD={os.environ['DISK_FAULTS_LIBRARY']} DISK_FAULTS={self.folder} "
                                         f"exec {PROGRAMS_FOLDER / name} \"$@\"\n")
            (programs / name).chmod(0o755)
        (self.folder / "faults").write_text(f"fsync wait:{self.wait_ms} 0 /snapshots/\n")
        self.gangway = str(programs / "gangway")

    def test_what_three_hosts_keep_is_whole_however_slow_their_disk_is(self):
        three = (3, ["host1", "host2", "host3"])
        (self.folder / "pid.py").write_text(PID)  # by id, because the hosts share a process namespace
        fault = f"kill -KILL $({sys.executable} pid.py 2); wait $job; " + "".join(WIPE.format(number) for number in (1, 2, 3))
        began = time.monotonic()
        said = self.play("3", three, fault, three)
        self.assertRegex(said["first"], r"kept   the snapshot of step \d+, as far as this host has it, in \S+/snapshots")
        self.assert_resumed(said)
        print(f"\nkept {self.kept_bytes() / 1e6:.0f} MB at {8.4e3 / self.wait_ms:.0f} MB/s a host at most, and went on; "
              f"{time.monotonic() - began:.0f} s in all")

    def play(self, cluster, first, fault, second):
        # Measures the stored snapshots before the next start removes them.
        fault += " du -sb runs/*/snapshots | cut -f1 >kept_bytes"
        return super().play(cluster, first, fault, second)

    def kept_bytes(self):
        return int((self.folder / "kept_bytes").read_text())


class KeptLarge(Kept):
    """Runs a job of 0.9 GB of state, 310 MB per host, at 100 MB/s: the widest allowed model."""

    wait_ms = 80
    tick = 14
    job = ["model.width=4096", "training.kimg=0.24", "training.microbatches=6", "training.batch=12", "output.pictures_kimg=0",
           "output.tick_kimg=0.012", "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=2", "layout.timeout_seconds=300"]
    deadline = 1500


if __name__ == "__main__":
    main()
