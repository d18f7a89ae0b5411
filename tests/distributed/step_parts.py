#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts of a step add up to the training time under every layout, and a planted wait appears in its part. `gangway compare
--parts` finds differing runs. trace_steps.py compares the parts with a trace of the same steps.

    GANGWAY_BIN=build/release/bin step_parts.py [unittest arguments]
"""
import json
import re
import shutil
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

RING = [EXAMPLES / "ring8.yaml", "training.kimg=20", "training.batch=128", "training.microbatches=4", "output.tick_kimg=5",
        "output.pictures_kimg=0", "checkpoint.every_kimg=0"]


class StepParts(Trainings):
    def train_and_check_sums(self, run, *words, workers):
        """The parts of all steps sum to the training time for each worker, almost: processes have different clocks."""
        self.train(*RING, *words, run=run, workers=workers)
        ticks = [json.loads(line) for line in (self.folder_of(run) / "stats.jsonl").read_text().splitlines()]
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
        return any("tensors" in tick.get("parts_by_rank", {}) for tick in ticks)

    def compare(self, *runs, code, limit="3%"):
        got, out, err = self.call(GANGWAY, "compare", *runs, "--parts", "--fail-above", limit)
        self.assertEqual(got, code, out + err)
        return out + err

    def test_add_up_under_every_layout(self):
        self.assertFalse(self.train_and_check_sums("three", workers=3))
        self.assertTrue(self.train_and_check_sums("stages", "layout.stages=2", workers=2), "a bubble")

    def test_tell_runs_apart_and_of_gpus_too(self):
        """Copies the first run, with GPU figures in every second tick."""
        self.assertFalse(self.train_and_check_sums("before", workers=1))
        self.train_and_check_sums("after", "output.pictures_kimg=0.128", workers=1)  # a picture in each step
        self.compare("before", "before", code=0)
        self.assertRegex(self.compare("before", "after", code=1), r"(?m)^slower: pictures of 0000\d-after takes [0-9.]+ ms more")
        self.assertIn("a percentage such as 3%", self.compare("before", "after", limit="many", code=2))
        before = self.folder_of("before")
        for name, seconds in (("00008-fast", 0.01), ("00009-slow", 0.02)):
            stats = shutil.copytree(before, before.with_name(name)) / "stats.jsonl"
            ticks = [json.loads(line) for line in stats.read_text().splitlines()]
            for tick in ticks[::2]:
                tick["device_parts"] = {"generator_forward": seconds, "data": 0.01}
            stats.write_text("".join(json.dumps(tick) + "\n" for tick in ticks))
        out = self.compare("fast", "slow", "before", code=1)
        self.assertRegex(out, r"(?m)^waits for data, % +50\.0 +33\.3 +\d+\.\d$")
        self.assertRegex(out, r"(?m)^ms a step, its GPU +00008-fast +00009-slow +0000\d-before$")
        self.assertRegex(out, r"(?m)^generator_forward +10\.000 +50\.0% +20\.000 +66\.7% +-$")
        self.assertEqual(re.findall(r"(?m)^slower: the GPU's (\w+) of (\S+) takes 10\.000 ms more, 50\.0 % of a step$", out),
                         [("generator_forward", "00009-slow"), ("step", "00009-slow")])


if __name__ == "__main__":
    unittest.main()
