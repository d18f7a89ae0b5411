#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gangway profile, plan and scale on a tiny job: what one leaves the others read, and none leaves anything else.

    GANGWAY_BIN=build/release/bin planning.py [unittest arguments]
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, descendants

RING = EXAMPLES / "ring8.yaml"
SMALL = ["model.width=32", "training.batch=64", "training.microbatches=4"]
PNG = b"\x89PNG\r\n\x1a\n"


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_lines(pid):
    """Of all that it has started."""
    found = []
    for child in descendants(pid):
        try:
            found.append(pathlib.Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            pass  # it has just ended
    return found


class Planning(Trainings):
    measured = None

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def said(self, *words, code=0):
        ended, out, err = self.call(GANGWAY, *words)
        self.assertEqual(ended, code, out + err)
        return out + err

    def profile(self, *keys, job=RING):
        return self.said("profile", job, *SMALL, *keys, "--seconds", "0.3", "--anyway")

    def have_profile(self):
        """Of the job as it is; one for all tests that only read it."""
        file = self.folder / "ring8.profile.json"
        if Planning.measured is None:
            self.profile()
            Planning.measured = file.read_bytes()
        file.write_bytes(Planning.measured)

    def ranking(self, profile, file):
        file.write_text(json.dumps(profile))
        return json.loads(self.said("plan", RING, *SMALL, "-n", 2, "--json", "--rows", 100))["ranking"]

    def test_a_profile_is_planned_with_and_a_first_layout_can_be_run(self):
        said = self.profile()
        self.assertRegex(said, r"(?m)^generator +0 +\d")
        self.assertRegex(said, r"(?m)^all +\d+\.\d+ \+- ")
        profile = json.loads((self.folder / "ring8.profile.json").read_text())
        self.assertEqual(profile["images_per_microbatch"], 16)
        self.assertEqual([network["name"] for network in profile["networks"]], ["generator", "discriminator"])
        self.assertTrue(all(cost["time"]["seconds"] > 0 for cost in profile["instructions"] if "ward" in cost["operation"]))
        self.assertTrue(all(block["kept_bytes"] >= block["output_bytes"] > 0 for block in profile["blocks"]))
        plan = json.loads(self.said("plan", RING, *SMALL, "--json", "--rows", 100))
        self.assertLessEqual(plan["devices"], profile["cores"])
        steps = [row["step_seconds"] for row in plan["ranking"]]
        self.assertEqual(steps, sorted(steps))
        best = plan["ranking"][0]
        short = ["training.kimg=0.2", "--progress", "lines"]
        self.said("run", RING, *SMALL, *best["arguments"].split(), *short)
        said = self.said("run", RING, *SMALL, *short, "--plan", "ring8.profile.json", "--run", "planned")
        self.assertIn(f"plan: {best['layout']}\n", said)
        self.assertIn(f"overlap: {best['overlap']}", next((self.folder / "runs").glob("*-planned/job.yaml")).read_text())

    def test_a_profile_is_of_one_worker_whatever_layout_the_job_names(self):
        for layout in (["layout.stages=2"], ["layout.generator=[0]", "layout.discriminator=[1]"], ["layout.shares=[3,1]"]):
            self.assertIn("written to ", self.profile(*layout, "-o", f"{layout[0]}.json"))

    def test_stages_that_a_plan_chooses_train_to_one_workers_digest(self):
        self.have_profile()
        file = self.folder / "ring8.profile.json"
        profile = json.loads(file.read_text())
        # A judge that takes all the time, and a machine that is too small for whole networks.
        for cost in profile["instructions"]:
            cost["time"]["seconds"] = 1e-2 if cost["network"] == "discriminator" and "ward" in cost["operation"] else 1e-6
        for block in profile["blocks"]:
            block.update(kept_bytes=1, output_bytes=1)
        devices = profile["cores"] // profile["threads"]
        profile["memory_bytes"] = devices  # too little for all: stages are cut by memory, too
        ranking = self.ranking(profile, file)
        least = {kind: min(one["memory_bytes"] for one in ranking if (" stages" in one["layout"]) == kind and "apart" not in one["layout"])
                 for kind in (False, True)}
        self.assertLess(least[True], least[False])
        # What fits has a sixteenth to spare.
        profile["memory_bytes"] = devices * (least[True] + least[False]) // 2 * 17 // 16
        best = self.ranking(profile, file)[0]
        self.assertTrue(best["fits"])
        self.assertIn("stages", best["layout"])
        short = ["training.kimg=1", "output.pictures_kimg=0", "--progress", "lines"]
        self.said("run", RING, *SMALL, *short, "-n", 1, "--run", "alone")
        for run, words in (("planned", ["--plan", file]), ("auto", ["layout=auto"])):
            said = self.said("run", RING, *SMALL, *short, *words, "-n", 2, "--run", run)
            self.assertIn(f"plan: {best['layout']}\n", said)
            job = next((self.folder / "runs").glob(f"*-{run}/job.yaml")).read_text()
            self.assertRegex(job, r"stages: 2")
            self.assertRegex(job, r"plan: none")
            self.assertEqual(self.digest(run), self.digest("alone"))

    def test_profiles_no_job_for_gpus_where_there_is_none(self):
        code, _, err = self.call(GANGWAY, "profile", RING, "numerics.device=cuda", "--seconds", "0.3", "--anyway",
                                 CUDA_VISIBLE_DEVICES="")
        self.assertEqual((code, err.count("\n")), (6, 1), err)
        self.assertIn("there is no GPU to compute on here", err)
        self.assertEqual(list(self.folder.glob("*.json")), [])

    def test_auto_without_a_profile_says_so_and_trains(self):
        short = ["training.kimg=0.2", "output.pictures_kimg=0", "--progress", "lines", "-n", 1]
        said = self.said("run", RING, *SMALL, *short, "layout.plan=auto", "--run", "none")
        self.assertIn("plan: none, every worker has all networks: there is no ring8.profile.json", said)
        self.profile("model.width=64")
        said = self.said("run", RING, *SMALL, *short, "layout.plan=auto", "--run", "another")
        self.assertIn("measured of another job", said)
        said = self.said("run", RING, *SMALL, *short, "layout.plan=auto", "layout.stages=2", "--run", "both", code=2)
        self.assertIn("leave layout.stages, layout.cuts and the workers of networks out", said)

    def test_lists_of_the_first_layout_can_be_read(self):
        self.have_profile()
        said = self.said("plan", RING, *SMALL, "-n", 2, "--whole", "--schedule", "lists")
        self.assertIn("Lists of 2 workers: lists", said)
        first, second = ((self.folder / f"lists/rank-{rank}.txt").read_text().splitlines() for rank in (1, 2))
        self.assertEqual(first[0], "# rank 1: generator, micro-batches 0-1; discriminator, micro-batches 0-1")
        self.assertEqual(second[0], "# rank 2: generator, micro-batches 2-3; discriminator, micro-batches 2-3")
        self.assertEqual(len([line for line in first if line.startswith("reduce ")]), 2)
        printed = self.said("plan", RING, *SMALL, "-n", 2, "--whole", "--schedule", "-")
        self.assertTrue(printed.endswith("\n".join(first + second) + "\n"))

    def test_profiles_what_other_recipes_have(self):
        # Lazy regularisers, statistics, a penalty that is not a forward.
        said = self.profile("training.r1.gamma=1", "training.r1.interval=4")
        self.assertIn("discriminator real: discriminator backward", said)
        costs = json.loads((self.folder / "ring8.profile.json").read_text())["instructions"]
        self.assertIn("penalty backward", [cost["operation"] for cost in costs])
        self.said("plan", RING, *SMALL, "training.r1.gamma=1", "training.r1.interval=4")

    def test_plans_for_machines_that_are_not_there_and_what_would_be(self):
        self.have_profile()
        clusters = sorted((EXAMPLES / "clusters").glob("*.yaml"))
        self.assertTrue(clusters)
        for cluster in clusters:
            self.assertIn("Run it: gangway run", self.said("plan", RING, *SMALL, "--cluster", cluster))
        hosts = EXAMPLES / "clusters/two-hosts.yaml"

        def seconds(*what_ifs):
            out = self.said("plan", RING, *SMALL, "--cluster", hosts, "-n", 4, "--json", *what_ifs)
            return json.loads(out)["ranking"][0]["step_seconds"]

        usual = seconds()
        self.assertGreater(seconds("--what-if", "slow:host-0=3", "--what-if", "slow:host-1=3"), usual)
        self.assertGreaterEqual(seconds("--what-if", "lost:host-1"), usual)
        self.assertGreaterEqual(seconds("--what-if", "link:between=0.01x"), usual)

    def test_refuses_a_profile_of_another_job_and_bad_words(self):
        self.have_profile()
        for words, complaint in (((RING, "model.width=64", *SMALL[1:]), "measured of another job"),
                                 ((RING, *SMALL[:1], "training.batch=128"), "measured with micro-batches of 16 images"),
                                 ((RING, *SMALL, "--profile", "nowhere.json"), "nowhere.json: no profile there"),
                                 ((RING, *SMALL, "--cluster", "nowhere.yaml"), "nowhere.yaml: no such file"),
                                 ((RING, *SMALL, "--what-if", "lost:nobody"), "there is no node 'nobody'"),
                                 ((RING, *SMALL, "-n", 5), "5")):
            self.assertIn(complaint, self.said("plan", *words, code=2))

    def test_scale_measures_beside_the_prediction_and_draws(self):
        self.have_profile()
        said = self.said("scale", RING, *SMALL, "--workers", "1,2", "--rounds", 1, "--steps", 12, "--anyway", "-o", "s.png")
        for kind in ("strong", "weak"):
            self.assertIn(f"{kind} scaling\n", said)
        self.assertEqual(len(re.findall(r"(?m)^ +[12] +\d+\.\d\d +0\.0 % +\d+\.\d +\d+\.\d\d +[+-]", said)), 4, said)
        self.assertIn("Amdahl: ", said)
        self.assertTrue((self.folder / "s.png").read_bytes().startswith(PNG))
        self.assertFalse((self.folder / "runs").exists())
        self.assertIn("expected numbers from 1 that rise", self.said("scale", RING, "--workers", "2,1", code=2))
        self.assertIn("cannot be shared by so many", self.said("scale", RING, *SMALL, "--workers", "1,8", code=2))

    def test_a_busy_machine_is_refused_before_anything_is_measured(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            for command in ("profile", "scale"):
                said = self.said(command, RING, *SMALL, code=6)
                self.assertRegex(said, r"gangway: others use \d+ % of this machine: wait until it is quiet, or measure with --anyway")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertFalse((self.folder / "ring8.profile.json").exists())

    def test_a_signal_ends_what_measures_and_all_that_it_has_started(self):
        def in_apart(found):
            return len(found) > 9 and any("-apart1" in words for words in found)  # several runs at the same time

        scale = ["scale", RING, *SMALL, "--workers", "2", "--strong", "--steps", 3000, "--anyway"]
        profile = ["profile", RING, *SMALL, "--seconds", 60, "--anyway"]
        for number in (signal.SIGINT, signal.SIGTERM):
            for words, has_begun in ((scale, lambda found: len(found) > 4), (scale, in_apart), (profile, lambda found: len(found) > 1)):
                running = self.start(*words, name=f"said{time.monotonic_ns()}", TMPDIR=self.temporary)
                running.wait_until(lambda: has_begun(command_lines(running.process.pid)), "what it starts")
                processes = descendants(running.process.pid)
                begin = time.monotonic()
                running.send(number)
                self.assertIn(running.end(), (128 + number, -number), running.said())
                while any(map(is_there, processes)) and time.monotonic() < begin + 10:
                    time.sleep(0.01)
                self.assertEqual(list(filter(is_there, processes)), [])
                print(f"{words[0]}: {len(processes)} processes gone after {time.monotonic() - begin:.2f} s", flush=True)
                self.assertEqual(list(self.temporary.glob("gangway-*")), [])
                self.assertFalse(list(self.folder.glob("*.tmp")))


if __name__ == "__main__":
    unittest.main()
