#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user can get wrong with real programs: one line that says it, and the exit code that belongs to it.

    GANGWAY_BIN=build/release/bin bad_input.py [unittest arguments]
"""
import gzip
import os
import struct
import subprocess
import unittest
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, Trainings

JOB = """
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 1.28, batch: 64, microbatches: 2}
checkpoint: {every_kimg: 0.64}
output: {tick_kimg: 0.64, pictures_kimg: 0}
"""  # 20 steps, a checkpoint every 10


def idx_images(count, written=None, side=28):
    """An IDX file that announces `count` images and holds `written` of them."""
    return struct.pack(">IIII", 0x803, count, side, side) + bytes(side * side * (count if written is None else written))


class BadInput(Trainings):
    def setUp(self):
        super().setUp()
        (self.folder / "job.yaml").write_text(JOB)

    def refuse(self, code, *arguments, says, job="job.yaml", **variables):
        """`gangway run` must end with `code` and one line with all words of `says`."""
        got, out, err = self.call(GANGWAY, "run", job, *arguments, **variables)
        self.assertEqual(got, code, out + err)
        lines = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertEqual(len(lines), 1, err)
        for word in says:
            self.assertIn(word, lines[0])
        self.assertNotIn("terminate called", err)
        return out

    def train_to_the_end(self, *arguments):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "-n", 1, *arguments)
        self.assertEqual(code, 0, out + err)
        return out

    def newest_part(self):
        return sorted((self.folder / "runs/00000-job/checkpoints").glob("step-*"))[-1] / "worker-0000-of-0001.safetensors"


class Job(BadInput):
    def test_a_typo_in_a_key_is_2_and_gets_a_suggestion(self):
        self.refuse(2, "training.bacth=64", says=["bacth", "did you mean", "batch"])

    def test_a_typo_in_the_file_is_2_with_line_and_column(self):
        (self.folder / "job.yaml").write_text(JOB.replace("latent", "latnet"))
        self.refuse(2, says=["job.yaml:2:", "latnet", "did you mean", "latent"])

    def test_a_wrong_type_is_2(self):
        self.refuse(2, "training.batch=many", says=["training.batch", "many"])

    def test_a_batch_that_cannot_be_cut_is_2(self):
        self.refuse(2, "training.batch=63", says=["63", "microbatches", "62 or 64"])

    def test_more_workers_than_microbatches_is_2(self):
        self.refuse(2, "-n", 3, says=["3", "microbatches"])

    def test_a_job_file_that_is_not_there_is_2(self):
        self.refuse(2, job="nowhere.yaml", says=["nowhere.yaml"])


class Data(BadInput):
    def refuse_images(self, *says):
        self.refuse(2, "-n", 1, f"data.source=idx:{self.folder}/images", "model.width=16", "training.kimg=0.064",
                    job=EXAMPLES / "fashion-mnist.yaml", says=says)

    def test_a_folder_that_is_not_there_is_2(self):
        self.refuse_images("images", "does not exist")

    def test_a_folder_without_images_is_2(self):
        (self.folder / "images").mkdir()
        self.refuse_images("images", "train-images-idx3-ubyte")

    def test_truncated_images_are_2(self):
        (self.folder / "images").mkdir()
        (self.folder / "images/train-images-idx3-ubyte").write_bytes(idx_images(64, written=63))
        self.refuse_images("train-images-idx3-ubyte", "truncated")

    def test_truncated_compression_is_2(self):
        (self.folder / "images").mkdir()
        (self.folder / "images/train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_images(64) + os.urandom(999))[:-500])
        self.refuse_images("train-images-idx3-ubyte.gz")

    def test_a_wrong_magic_number_is_2(self):
        (self.folder / "images").mkdir()
        (self.folder / "images/train-images-idx3-ubyte").write_bytes(b"P5 28 28" + bytes(1000))
        self.refuse_images("train-images-idx3-ubyte")


class Device(BadInput):
    @unittest.skipIf(Path("/dev/nvidia0").exists(), "there is a GPU")
    def test_a_job_for_gpus_without_one_is_6(self):
        self.refuse(6, "-n", 2, "numerics.device=cuda", says=["numerics.device: cuda", "no GPU", "numerics.device=cpu"])

    def test_a_transport_that_gpus_do_not_use_is_2(self):
        self.refuse(2, "-n", 2, "numerics.device=cuda", "layout.transport=shm", says=["layout.transport", "nccl"])


class Network(BadInput):
    def test_no_interface_at_all_is_6(self):
        if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
            self.skipTest("no network name space can be made")
        code, out, err = self.call("unshare", "--net", GANGWAY, "run", "job.yaml")
        self.assertEqual(code, 6, out + err)
        self.assertRegex(err, r"\Agangway: no network interface is up.*: ip link set lo up\n\Z")


class Disk(BadInput):
    def test_a_run_directory_that_cannot_be_written_is_6(self):
        (self.folder / "runs").write_text("a file where the folder of the runs should be")
        self.refuse(6, "-n", 1, says=["runs"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_of_runs_without_permission_is_6(self):
        (self.folder / "runs").mkdir(mode=0o500)
        self.refuse(6, "-n", 1, says=["runs"])

    def test_a_full_disk_is_said_while_training_goes_on_and_fails_at_last(self):
        runs = self.folder / "runs"
        runs.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", runs], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", runs], check=False)
        # A checkpoint of this width is 3.7 MB: none fits.
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "-n", 1, "model.width=256", "training.kimg=3.2")
        self.assertEqual(code, 6, out + err)
        self.assertIn("warn  checkpoint of step 10 failed", out)
        self.assertIn("tick 3 ", out)
        lines = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertEqual(len(lines), 1, err)
        self.assertIn("No space left on device", lines[0])


class Checkpoints(BadInput):
    def test_a_flipped_bit_falls_back_to_the_older_checkpoint_and_says_so(self):
        self.train_to_the_end()
        part = self.newest_part()
        damaged = bytearray(part.read_bytes())
        damaged[len(damaged) // 2] ^= 0x10
        part.write_bytes(damaged)
        out = self.train_to_the_end()
        self.assertIn("step-000000020", out)  # named as damaged
        self.assertIn("resume step-000000010", out)

    def test_a_truncated_file_falls_back_to_the_older_checkpoint_and_says_so(self):
        self.train_to_the_end()
        part = self.newest_part()
        part.write_bytes(part.read_bytes()[:-1])
        out = self.train_to_the_end()
        self.assertIn("step-000000020", out)
        self.assertIn("resume step-000000010", out)

    def test_only_damaged_checkpoints_are_5(self):
        self.train_to_the_end("training.kimg=0.64")
        part = self.newest_part()
        part.write_bytes(part.read_bytes()[:100])
        self.refuse(5, "-n", 1, says=["checkpoint", "--resume never"])

    def test_a_checkpoint_of_another_model_is_5(self):
        self.train_to_the_end("training.kimg=0.64")
        self.refuse(5, "-n", 1, "model.width=48", says=["model.width 48, was 32", "--resume never"])


class Start(BadInput):
    def test_train_without_mpirun_inside_slurm_is_6(self):
        code, out, err = self.call(GANGWAY, "train", "job.yaml", SLURM_JOB_ID="7", SLURM_NTASKS="3", SLURM_PROCID="0",
                                   SLURM_NODELIST="node[1-3]")
        self.assertEqual(code, 6, out + err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("srun --mpi=pmix", err)


if __name__ == "__main__":
    unittest.main()
