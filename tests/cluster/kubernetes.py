#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The emulated launcher pod of `gangway init k8s`: its commands on one host, the worker pods on other hosts. After
Kubernetes' SIGTERM it saves within its grace period, and resumes when it is started again.

    GANGWAY_BIN=build/release/bin kubernetes.py [unittest arguments]        exit code 77: no cluster can be emulated
"""
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import RUN, inside, main  # noqa: E402
from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings, environment  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
SMALL = ["training.kimg=40", "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=2"]
GRACE = 10
PREEMPTED = 75


class Launcher(Trainings):
    def launcher_words(self):
        """Returns the launcher's shell commands, with the pod's paths moved to the test's folder."""
        code, text, err = self.call(GANGWAY, "init", "k8s", RING, *SMALL, "-n", "2", "--nodes", "2", "--run", "a", "--grace",
                                    str(GRACE), "-o", "-")
        self.assertEqual(code, 0, err)
        (self.folder / "hostfile").write_text("host2 slots=1\nhost3 slots=1\n")  # as the operator writes it
        self.probes = dict(re.findall(r"(\w+)Probe:\n(?:.*\n){2} +exec:\n +command:\n.*\n.*\n +- \|\n((?: {18}.*\n)+)", text))
        script, = re.findall(r"Launcher:.*?args:\n +- \|\n((?: {14}.*\n)+)", text, re.DOTALL)
        for place, played in (("/etc/mpi/hostfile", self.folder / "hostfile"), ("/tmp/hostfile", self.folder / "all"),
                              ("/dev/shm/gangway-unmended", self.folder / "unmended"), ("/job/job.yaml", RING),
                              ("--outdir /runs", f"--outdir {self.folder}/runs")):
            self.assertIn(place, script)
            script = script.replace(place, str(played))
        return f"PATH={PROGRAMS}:$PATH\n{textwrap.dedent(script)}"

    def test_saves_within_its_grace_and_goes_on_with_the_same_numbers(self):
        words = self.launcher_words()
        self.train(RING, *SMALL, run="undisturbed", workers=1)
        # The first shell passes SIGTERM on, as a container's first process does.
        self.assertEqual(set(self.probes), {"startup", "liveness", "readiness"})
        (self.folder / "probe").write_text("set -e\n" + textwrap.dedent(self.probes["liveness"]))
        first = f"""
            ({words}) & pod=$!; bash probe && echo healthy too early; read -r
            bash probe && echo healthy; kill -TERM $pod; wait $pod"""
        process = subprocess.Popen([RUN, "3", "none", "--", *inside(first)], cwd=self.folder, env=environment(), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.kill)
        while not (line := process.stdout.readline()).startswith("tick"):
            self.assertTrue(line, "ended before its first tick")
        told = time.monotonic()
        out, _ = process.communicate("\n", timeout=self.deadline)
        self.assertEqual(process.returncode, PREEMPTED, out)
        self.assertRegex(out, "(?m)^healthy$")
        self.assertRegex(out, r"saved at step \d+")
        self.assertLess(time.monotonic() - told, GRACE)
        code, out, err = self.call(RUN, "3", "none", "--", *inside(words))
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"resume step-\d+")
        self.assertRegex(out, r"(?m)^ +0  host1 .*coordinator\b.*\n +1  host2 .*\n +2  host3 ")
        self.assertEqual(self.digest("a"), self.digest("undisturbed"))


if __name__ == "__main__":
    main()
