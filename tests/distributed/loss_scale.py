#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks in fp16: all workers skip an update whose gradient overflows anywhere, the loss scale halves, and a resume
continues with it.

    GANGWAY_BIN=build/release/bin loss_scale.py [unittest arguments]
"""
import json
import re
import unittest

import safetensors.numpy

from train_command import EXAMPLES, GANGWAY, Trainings

# The loss scale begins at 65,536, so the first gradients overflow.
JOB = ["model.width=8", "model.latent=16", "training.microbatches=4", "training.batch=32", "numerics.precision=fp16",
       "output.pictures_kimg=0", "output.tick_kimg=0.064",
       "checkpoint.every_kimg=0"]
SKIP = re.compile(r"note\s+step (\d+): an update of the (\w+) was skipped, its gradient was not finite; its loss scale is (\d+) now")


class LossScale(Trainings):
    def skips(self, *arguments, run, workers):
        code, out, err = self.call(GANGWAY, "run", EXAMPLES / "fashion-mnist.yaml", "-n", workers, "--run", run, *JOB, *arguments)
        self.assertEqual(code, 0, out + err)
        return SKIP.findall(out)

    def counts(self, run):
        tensors = {}
        for file in self.folder_of(run).glob("checkpoints/step-000000020/*.safetensors"):
            tensors |= safetensors.numpy.load_file(file)
        return {name: int(value[0]) for name, value in tensors.items() if re.search("_optimizer/[a-z_]+$", name)}

    def test_all_workers_skip_alike_and_a_resume_goes_on_with_the_scale(self):
        alone = self.skips("training.kimg=0.64", run="alone", workers=1)
        self.assertTrue(alone)
        for step, network, scale in alone:
            self.assertLess(int(scale), 65536)
        first = self.skips("training.kimg=0.32", "layout.overlap=none", run="three", workers=3)
        rest = self.skips("training.kimg=0.64", "layout.transport=mpi", run="three", workers=2)
        self.assertEqual(first + rest, alone)
        self.assertEqual(self.digest("three"), self.digest("alone"))
        counts = self.counts("three")
        shown = json.loads((self.folder_of("three") / "stats.jsonl").read_text().splitlines()[-1])
        for network in ("generator", "discriminator"):
            self.assertEqual(shown[f"{network}_loss_scale"], min(int(scale) for _, name, scale in alone if name == network))
            of_network = [skip for skip in alone if skip[1] == network]
            self.assertEqual(counts[f"{network}_optimizer/skipped_updates"], len(of_network))
            self.assertEqual(counts[f"{network}_optimizer/loss_scale_exponent"], 16 - len(of_network))
            self.assertEqual(counts[f"{network}_optimizer/updates"], 20 - len(of_network))


if __name__ == "__main__":
    unittest.main()
