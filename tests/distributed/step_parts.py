#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts of a step add up to the time that was trained, under every layout; they are what a trace shows of the same steps; a
part that a job is made to have shows where it belongs; `gangway compare --parts` tells runs apart.

    GANGWAY_BIN=build/release/bin step_parts.py [unittest arguments]
"""
import json
import re
import shutil
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

RING = [EXAMPLES / "ring8.yaml", "training.kimg=20", "training.batch=128", "training.microbatches=4", "output.tick_kimg=5",
        "output.pictures_kimg=0", "checkpoint.every_kimg=0"]
FIRST, END = 4, 10


class StepParts(Trainings):
    def ticks(self, run):
        folder, = (self.folder / "runs").glob(f"*-{run}")
        return [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]

    def check_sums(self, run):
        """Seconds of the parts of all steps, of each worker, are those of the training: clocks of other processes, so not quite."""
        ticks = self.ticks(run)
        seconds = ticks[-1]["seconds_total"]
        before, sums = 0, {}
        for tick in ticks:
            steps, before = tick["step"] - before, tick["step"]
            rows = tick.get("parts_by_rank") or {name: [value] for name, value in tick["parts"].items()}
            for values in rows.values():
                for rank, value in enumerate(values):
                    sums[rank] = sums.get(rank, 0.0) + value * steps
        for rank, told in sums.items():
            self.assertAlmostEqual(told, seconds, delta=0.05 * seconds + 0.1, msg=f"{run}: worker {rank + 1}")
        return ticks

    def test_add_up_under_every_layout(self):
        for run, workers, words in (("one", 1, []), ("three", 3, []), ("apart", 3, ["layout.generator=[0]", "layout.discriminator=[1,2]"]),
                                    ("stages", 2, ["layout.stages=2"])):
            with self.subTest(run):
                self.train(*RING, *words, run=run, workers=workers)
                ticks = self.check_sums(run)
                has_bubble = any("tensors" in tick.get("parts_by_rank", {}) for tick in ticks)
                self.assertEqual(has_bubble, run in ("apart", "stages"))

    def test_are_those_of_a_trace(self):
        self.train(EXAMPLES / "fashion-mnist.yaml", "model.width=16", "training.microbatches=4", "training.kimg=0.768",
                   "output.pictures_kimg=0", "output.tick_kimg=0.064", "--trace", f"{FIRST}:{END}", run="traced", workers=1)
        folder, = (self.folder / "runs").glob("*-traced")
        events = json.loads((folder / "trace/trace.json").read_text())["traceEvents"]
        told, traced = {}, {}
        for tick in self.ticks("traced"):
            if FIRST < tick["step"] <= END:
                for name, seconds in tick["parts"].items():
                    told[name] = told.get(name, 0.0) + seconds
        waits = [event for event in events if event.get("name") == "wait for the loader"]
        for event in events:
            work = re.fullmatch(r"(forward|backward) (generator|discriminator)\b.*", event.get("name", ""))
            if event.get("cat") == "compute" and work:
                inside = sum(wait["dur"] for wait in waits if event["ts"] <= wait["ts"] < event["ts"] + event["dur"])
                name = f"{work[2]}_{work[1]}"
                traced[name] = traced.get(name, 0.0) + 1e-6 * (event["dur"] - inside)
        self.assertEqual(len(traced), 4, traced)
        for name, seconds in traced.items():  # data_copy, some microseconds, is inside of forwards too
            self.assertAlmostEqual(told[name], seconds, delta=0.02 * seconds + 0.001, msg=name)

    def test_tell_runs_apart(self):
        self.train(*RING, run="before", workers=1)
        self.train(*RING, "output.pictures_kimg=0.128", run="after", workers=1)  # a picture a step
        code, out, err = self.call(GANGWAY, "compare", "before", "before", "--parts", "--fail-above", "3%")
        self.assertEqual(code, 0, err)
        code, out, err = self.call(GANGWAY, "compare", "before", "after", "--parts", "--fail-above", "3%")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(out, r"(?m)^slower: pictures of 0000\d-after takes [0-9.]+ ms more")
        code, out, err = self.call(GANGWAY, "compare", "before", "after", "--fail-above", "many")
        self.assertEqual(code, 2, out)
        self.assertIn("a percentage such as 3%", err)

    def test_of_gpus_are_set_side_by_side(self):
        """Of runs that tell what workers with a GPU would, in every other tick."""
        self.train(*RING, run="host", workers=1)
        host, = (self.folder / "runs").glob("*-host")
        for name, seconds in (("00008-fast", 0.01), ("00009-slow", 0.02)):
            stats = shutil.copytree(host, host.with_name(name)) / "stats.jsonl"
            ticks = [json.loads(line) for line in stats.read_text().splitlines()]
            for tick in ticks[::2]:
                tick["device_parts"] = {"generator_forward": seconds, "data": 0.01}
            stats.write_text("".join(json.dumps(tick) + "\n" for tick in ticks))
        code, out, err = self.call(GANGWAY, "compare", "fast", "slow", "host", "--parts", "--fail-above", "3%")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(out, r"(?m)^ms a step, its GPU +00008-fast +00009-slow +0000\d-host$")
        self.assertRegex(out, r"(?m)^generator_forward +10\.000 +50\.0% +20\.000 +66\.7% +-$")
        self.assertEqual(re.findall(r"(?m)^slower: the GPU's (\w+) of (\S+) takes 10\.000 ms more, 50\.0 % of a step$", out),
                         [("generator_forward", "00009-slow"), ("step", "00009-slow")])
        code, out, err = self.call(GANGWAY, "compare", "host", "slow", "--parts", "--fail-above", "3%")
        self.assertEqual(code, 0, out + err)


if __name__ == "__main__":
    unittest.main()
