#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Errors of users with real programs: one line that names the error, and its exit code. One error of each kind; unit tests of
job/, data/, checkpoint/ and launch/ have the others.

    GANGWAY_BIN=build/release/bin bad_input.py [unittest arguments]
"""
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


class BadInput(Trainings):
    def setUp(self):
        super().setUp()
        (self.folder / "job.yaml").write_text(JOB)

    def train_to_the_end(self):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "-n", 1)
        self.assertEqual(code, 0, out + err)
        return out

    def checkpoint_parts(self):
        return sorted((self.folder / "runs/00000-job/checkpoints").glob("step-*/worker-0000-of-0001.safetensors"))

    def test_a_job_that_is_none_is_2(self):
        self.refused(2, "run", "job.yaml", "training.bacth=64", says=["bacth", "did you mean", "batch"])
        self.refused(2, "run", "job.yaml", "-n", 3, says=["3", "microbatches"])
        self.refused(2, "run", "nowhere.yaml", says=["nowhere.yaml"])
        self.refused(2, "run", "job.yaml", "-n", 2, "numerics.device=cuda", "layout.transport=shm", says=["layout.transport", "nccl"])
        (self.folder / "job.yaml").write_text(JOB.replace("latent", "latnet"))
        self.refused(2, "run", "job.yaml", says=["job.yaml:2:", "latnet", "did you mean", "latent"])

    def test_a_run_to_go_on_with_that_is_none_is_5(self):
        self.refused(5, "run", "job.yaml", "--resume", "must", "--run", "nothing", says=["--resume must", "no run 'nothing'"])

    def test_images_that_are_none_are_2(self):
        images = self.folder / "images"
        job = [EXAMPLES / "fashion-mnist.yaml", f"data.source=idx:{images}", "model.width=16", "training.kimg=0.064"]
        self.refused(2, "run", *job, "-n", 1, says=["images", "does not exist"])
        images.mkdir()
        (images / "train-images-idx3-ubyte").write_bytes(b"P5 28 28" + bytes(1000))
        self.refused(2, "run", *job, "-n", 1, says=["train-images-idx3-ubyte"])

    @unittest.skipIf(Path("/dev/nvidia0").exists(), "there is a GPU")
    def test_a_job_for_gpus_without_one_is_6(self):
        self.refused(6, "run", "job.yaml", "-n", 2, "numerics.device=cuda", says=["numerics.device: cuda", "no GPU", "numerics.device=cpu"])

    def test_without_a_number_there_is_a_worker_for_each_gpu_that_the_driver_shows_and_sharing_one_is_said(self):
        (self.folder / "cuda.c").write_text("int cuInit(unsigned flags) { return 0; }\n"
                                            "int cuDeviceGetCount(int* count) { *count = 3; return 0; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "libcuda.so.1", "cuda.c"], cwd=self.folder, check=True)
        words = [GANGWAY, "run", "job.yaml", "numerics.device=cuda", "training.batch=64", "training.microbatches=16", "--dry-run"]
        shown = {"LD_LIBRARY_PATH": str(self.folder)}
        code, out, err = self.call(*words, **shown)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"\b3 workers")
        self.assertIn("warn  4 workers share 3 GPUs", self.call(*words, "-n", 4, **shown)[1])

    def test_no_interface_at_all_is_6(self):
        if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
            self.skipTest("no network name space can be made")
        code, out, err = self.call("unshare", "--net", GANGWAY, "run", "job.yaml")
        self.assertEqual(code, 6, out + err)
        self.assertRegex(err, r"\Agangway: no network interface is up.*: ip link set lo up\n\Z")

    def test_a_run_directory_that_cannot_be_written_is_6(self):
        (self.folder / "runs").write_text("a file where the folder of the runs should be")
        self.refused(6, "run", "job.yaml", "-n", 1, says=["runs"])

    def test_train_without_mpirun_inside_slurm_is_6(self):
        self.refused(6, "train", "job.yaml", says=["srun --mpi=pmix"], SLURM_JOB_ID="7", SLURM_NTASKS="3", SLURM_PROCID="0",
                     SLURM_NODELIST="node[1-3]")

    def test_a_damaged_checkpoint_gives_way_to_the_one_before_and_without_one_or_of_another_model_it_is_5(self):
        self.train_to_the_end()
        newer = self.checkpoint_parts()[-1]
        damaged = bytearray(newer.read_bytes())
        newer.write_bytes(damaged[:1000])
        self.refused(5, "digest", "job", says=["step-000000020", "truncated", "job@10 is the newest that is whole"])
        damaged[len(damaged) // 2] ^= 0x10
        newer.write_bytes(damaged)
        out = self.train_to_the_end()
        self.assertIn("step-000000020", out)  # named as damaged
        self.assertIn("resume step-000000010", out)
        self.refused(5, "run", "job.yaml", "-n", 1, "model.width=48", says=["model.width 48, was 32", "--resume never"])
        for part in self.checkpoint_parts():
            part.write_bytes(part.read_bytes()[:100])
        self.refused(5, "run", "job.yaml", "-n", 1, says=["checkpoint", "--resume never"])


if __name__ == "__main__":
    unittest.main()
