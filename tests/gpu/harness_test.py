#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests tests/gpu/run with stand-ins for its programs: a step's failure leaves the rows of the others.

    harness_test.py [unittest arguments]
"""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import pack
from harness import FAIL, PASS, SKIPPED, Bench, Failure, Rows, Skip, Step, descendants, take_steps

RUN = Path(__file__).with_name("run")
PATIENCE = 60  # seconds
PASSES = "echo '[       OK ] Some.Test (1 ms)'"
FAILS = "echo '[  FAILED  ] Some.Test (1 ms)'; exit 1"
HANGS = "setsid sleep 600 & sleep 600"
VISIT_SECONDS = 540  # limit of a run on a machine that is lent for a quarter of an hour, including its start
STEADY = """#!/bin/sh
echo "$*" >> calls
[ "$1" = digest ] && { echo 0123; exit; }
for word; do case $word in run[0-9]*) name=$word;; esac; done
mkdir -p runs/1-$name
for tick in 1 2 3 4 5; do
  echo "{\\"kimg\\": $((tick * 4)), \\"seconds_total\\": $((tick * 2)), \\"unix_seconds\\": $((tick * 2))}"
done > runs/1-$name/stats.jsonl
"""


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"
        self.program("gpu_device_program", "echo stand-in")
        self.program("gpu_random", PASSES)
        self.program("gpu_slice_kernels", PASSES)

    def program(self, name, script):
        file = self.folder / name
        file.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def command(self, *arguments):
        return [sys.executable, RUN, "--out", self.out, *map(str, arguments), self.folder]

    def run_harness(self, *arguments):
        return subprocess.run(self.command(*arguments), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE, check=False)

    def outcomes(self):
        file = self.out / "rows.jsonl"
        rows = map(json.loads, file.read_text().splitlines()) if file.is_file() else []
        return [(row["name"].split(":")[0], row["outcome"]) for row in rows]

    def test_prints_and_keeps_each_row(self):
        done = self.run_harness("--parts", "kernels")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.outcomes(), [("random numbers", PASS), ("fused update", PASS)])
        self.assertIn("2 pass, 0 fail, 0 skipped, 0 left", done.stdout)

    def test_a_failing_program_is_named_and_the_next_one_runs(self):
        self.program("gpu_random", FAILS)
        done = self.run_harness("--parts", "kernels")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.outcomes(), [("random numbers", FAIL), ("fused update", PASS)])
        self.assertIn("failed: Some.Test", done.stdout)
        self.assertIn("Some.Test", (self.out / "output.txt").read_text())

    def test_a_program_that_hangs_is_ended_with_all_below_it(self):
        self.program("gpu_random", f"echo $$ > {self.folder}/pid; {HANGS}")
        self.run_harness("--parts", "kernels", "--command-seconds", "1")
        self.assertEqual(self.outcomes(), [("random numbers", FAIL), ("fused update", PASS)])
        pid = int((self.folder / "pid").read_text())
        self.assertFalse(Path(f"/proc/{pid}").exists())
        self.assertEqual(descendants(os.getpid()), [])

    def test_rows_survive_a_kill_and_the_next_call_goes_on(self):
        self.program("gpu_random", f"echo x >> {self.folder}/calls; {PASSES}")
        self.program("gpu_slice_kernels", f"touch {self.folder}/hangs; {HANGS}")
        process = subprocess.Popen(self.command("--parts", "kernels"), stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not (self.folder / "hangs").exists() and time.monotonic() < end:
            time.sleep(0.02)
        left = descendants(process.pid)
        process.kill()
        process.wait()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.outcomes(), [("random numbers", PASS)])
        with open(self.out / "rows.jsonl", "a", encoding="utf-8") as file:
            file.write('{"name": "cut o')  # a kill in the middle of a line
        self.program("gpu_slice_kernels", PASSES)
        done = self.run_harness("--parts", "kernels", "--resume")
        self.assertIn("1 pass", done.stdout)
        self.assertEqual((self.folder / "calls").read_text(), "x\n")
        self.assertEqual({row.name.split(":")[0] for row in Rows(self.out / "rows.jsonl", True).before},
                         {"random numbers", "fused update"})

    def test_sigterm_ends_it_and_all_below_it(self):
        self.program("gpu_random", f"touch {self.folder}/hangs; {HANGS}")
        process = subprocess.Popen(self.command("--parts", "kernels"), stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not (self.folder / "hangs").exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 143)
        self.assertEqual(descendants(os.getpid()), [])

    def test_nothing_begins_that_does_not_fit_the_deadline(self):
        done = self.run_harness("--parts", "kernels", "--deadline", "8")
        self.assertEqual(self.outcomes(), [("random numbers", PASS)])
        self.assertIn("no time for it", done.stdout)

    def test_trains_and_measures(self):
        self.program("gangway", STEADY)
        done = self.run_harness("--parts", "digests,speed")
        names = [name for name, outcome in self.outcomes() if outcome == PASS]
        self.assertEqual(names.count("training"), 8, done.stdout)
        self.assertIn("2000 images/s over 12 kimg", done.stdout)

    def test_what_needs_a_failed_step_is_skipped(self):
        self.program("gangway", "exit 3")
        self.run_harness("--parts", "digests")
        self.assertEqual([outcome for _, outcome in self.outcomes()], [FAIL] + 7 * [SKIPPED])

    def test_says_that_there_is_no_gpu(self):
        self.program("gpu_device_program", "exit 77")
        self.assertEqual(self.run_harness().returncode, 77)

    def test_goes_on_with_the_rows_of_another_folder(self):
        self.program("gpu_random", f"echo x >> {self.folder}/calls; {PASSES}")
        self.run_harness("--parts", "kernels", "--deadline", "8")
        before = self.folder / "before.jsonl"
        (self.out / "rows.jsonl").rename(before)
        done = self.run_harness("--parts", "kernels", "--before", before)
        self.assertIn("1 pass", done.stdout)
        self.assertEqual((self.folder / "calls").read_text(), "x\n")
        self.assertEqual(self.outcomes(), [("random numbers", PASS), ("fused update", PASS)])

    def test_measures_pytorch_and_keeps_what_it_says_of_kernels(self):
        python = self.folder / "python"  # instead of bench/ddp/worker.py's
        python.write_text("#!/bin/sh\ncat > /dev/null\necho ready\necho 2.5\necho ' 61.5 %   4 a_kernel'\n")
        python.chmod(0o755)
        script = (f"import runpy, sys; sys.argv = sys.argv[1:]; sys.executable = '{python}'; sys.path.insert(0, '{RUN.parent}'); "
                  f"runpy.run_path('{RUN}', run_name='__main__')")
        done = subprocess.run([sys.executable, "-c", script, *self.command("--parts", "streams")[1:]], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
        rows = [json.loads(line) for line in (self.out / "rows.jsonl").read_text().splitlines()]
        self.assertEqual({row["outcome"] for row in rows}, {PASS}, done.stdout)
        self.assertEqual(rows[0]["data"], {"images_per_second": 200 * 256 / 2.5, "kernels": [" 61.5 %   4 a_kernel"]})

    def test_plans_its_steps_and_refuses_unknown_ones(self):
        plan = self.run_harness("--plan", "--parts", "C,kernels", "--deadline", "70").stdout.splitlines()
        self.assertEqual([line.split()[1] for line in plan[:-1]], 4 * ["bandwidth"] + 2 * ["kernels"], "as asked for")
        self.assertEqual(sum("no time" in line for line in plan), 4, plan)
        self.assertIn("65 of 70 s taken, 4 without time", plan[-1])
        self.assertIn("--plan shows them", self.run_harness("--parts", "Z").stdout)

    def test_a_visit_fits_its_time_and_takes_first_what_tells_most(self):
        plan = self.run_harness("--plan", "--parts", "visit", "--deadline", str(VISIT_SECONDS)).stdout.splitlines()
        self.assertIn(" 0 without time", plan[-1])
        groups = list(dict.fromkeys(line.split()[1] for line in plan[:-1]))
        self.assertEqual(groups, ["warm", "smoke", "digests", "divided", "cut", "branches", "next", "streams", "memory", "python",
                                  "losses"])
        smoke = sum(int(line.split()[2]) for line in plan[:-1] if line.split()[1] in ("smoke", "digests", "divided"))
        self.assertLessEqual(smoke, 75)
        self.assertIn("R1, clipping", next(line for line in plan if line.split()[1] == "cut"))
        self.assertTrue(all("killed" in line for line in plan if line.split()[1] == "losses"))


class Steps(unittest.TestCase):
    def test_a_step_that_raises_is_a_row_like_any_other(self):
        def fails(what):
            def show(_):
                raise what
            return show

        steps = [Step("A", "g", "raises", 1, fails(IndexError("no such word"))), Step("A", "g", "fails", 1, fails(Failure("bits"))),
                 Step("A", "g", "skips", 1, fails(Skip("no GPU"))), Step("A", "g", "passes", 1, lambda _: ("well", {"x": 1}))]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            rows = Rows(Path(folder) / "rows.jsonl", False)
            self.assertEqual(take_steps(steps, Bench(folder, 100), rows), [])
            self.assertEqual([(row.outcome, row.note) for row in rows.read()],
                             [(FAIL, "IndexError: no such word"), (FAIL, "bits"), (SKIPPED, "no GPU"), (PASS, "well")])


class Packing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_what_is_brought_stands_ahead_of_an_open_mpi_of_the_machine(self):
        brought = self.folder / "brought"
        pack.gather(brought, [Path("/bin/hostname")], None)
        self.assertEqual({file.name for file in (brought / "bin").iterdir()}, {"hostname", "mpirun", "orted"})
        (self.folder / "python3").write_text("#!/bin/sh\necho /nowhere\n")  # the machine's Python, which is asked for its torch
        (self.folder / "python3").chmod(0o755)

        def two_ranks():
            return subprocess.run(["bash", "-c", f". {brought}/env; exec mpirun -n 2 hostname"], text=True, capture_output=True,
                                  timeout=PATIENCE, check=False,
                                  env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "OMPI_MCA_btl": "none"})

        done = two_ranks()
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 2), done.stderr)
        for plugin in (brought / "plugins").iterdir():
            plugin.unlink()
        self.assertNotEqual(two_ranks().returncode, 0, "the machine's own plugins were taken")

    def test_python_opens_the_archive(self):
        source = self.folder / "source"
        (source / "bin").mkdir(parents=True)
        (source / "bin/program").write_text("#!/bin/sh\n")
        (source / "bin/program").chmod(0o755)
        archive = self.folder / "packed.tar.xz"
        pack.pack(source, archive)
        subprocess.run([sys.executable, "-m", "tarfile", "-e", archive, self.folder / "opened"], check=True, timeout=PATIENCE)
        self.assertTrue(os.access(self.folder / "opened/bin/program", os.X_OK))


if __name__ == "__main__":
    unittest.main()
