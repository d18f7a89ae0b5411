#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keys that follow the device, and jobs that follow the memory, with stand-ins for GPUs and control groups.

    GANGWAY_BIN=build/release/bin devices.py [unittest arguments]
"""
import subprocess
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

DRIVER = """#include <stddef.h>
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* count) { *count = 2; return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* name, int length, int device) { strncpy(name, NAME, length); return 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = (size_t)MIB << 20; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = CAPABILITY; return attribute != 75; }
"""
DCGAN = [EXAMPLES / "fashion-mnist.yaml", "training.kimg=8.192", "training.batch=4096", "training.microbatches=2"]
RING = [EXAMPLES / "ring8.yaml", "training.kimg=1", "output.pictures_kimg=0"]


class Devices(Trainings):
    def driver(self, name, mebibytes, capability):
        """Makes a driver with two such GPUs. Returns the variables that make commands load it."""
        (self.folder / "cuda.c").write_text(DRIVER)
        subprocess.run(["cc", "-shared", "-fPIC", f'-DNAME="{name}"', f"-DMIB={mebibytes}", f"-DCAPABILITY={capability}", "-o",
                        "libcuda.so.1", "cuda.c"], cwd=self.folder, check=True)
        return {"LD_LIBRARY_PATH": str(self.folder)}

    def groups(self, mebibytes):
        """Makes control groups with that limit. Returns the variables that make commands read them."""
        for folder in (self.folder / "groups", self.folder / "groups/memory"):  # of both versions
            folder.mkdir()
            (folder / "memory.max").write_text(f"{mebibytes << 20}\n")
            (folder / "memory.current").write_text("1000\n")
        return {"GANGWAY_CONTROL_GROUPS": str(self.folder / "groups")}

    def said(self, *words, **variables):
        code, out, err = self.call(GANGWAY, "run", *words, **variables)
        self.assertEqual(code, 0, out + err)
        return out

    def test_a_dry_run_says_what_follows_the_gpu_and_why(self):
        words = [*DCGAN, "numerics.device=cuda", "numerics.precision=auto", "--dry-run"]
        out = self.said(*words, "layout.buckets=3", **self.driver("NVIDIA H100 80GB HBM3", 81559, 9))
        self.assertIn("numerics.precision auto: generator bf16, discriminator bf16 (h100 multiplies bf16)\n"
                      "numerics.memory_format auto: channels-last (h100 is faster with it in bf16)\n"
                      "layout.nccl_ctas auto: 16 (h100)\n", out)
        for line in ("  precision: bf16", "  memory_format: channels-last", "  nccl_ctas: 16", "  buckets: 3"):
            self.assertIn(line + "\n", out)
        self.assertNotIn("layout.buckets auto", out)
        out = self.said(*words, **self.driver("Tesla T4", 15095, 7))
        self.assertIn("numerics.precision auto: generator fp32, discriminator fp32 (Tesla T4 does not multiply bf16)\n"
                      "numerics.memory_format auto: contiguous (Tesla T4 is faster with it in fp32)\n", out)
        self.assertNotIn("nccl_ctas", out)

    def test_a_gpu_that_is_too_small_gets_another_layout_by_itself_and_micro_batches_where_asked(self):
        words = [*DCGAN, "numerics.device=cuda"]
        small = self.driver("NVIDIA H100 80GB HBM3", 2500, 9)
        out = self.said(*words, "--dry-run", "-n", 1, **small)
        self.assertRegex(out, r"warn  the job needs an estimated [\d.]+ GiB of the 2.44 GiB of the GPU: no bit changes with "
                              r"numerics.cuda_graph=off \([\d.]+ GiB, 1 worker\)\n")
        self.assertIn("  cuda_graph: off\n", out)
        self.assertNotIn("  microbatches: ", out)
        given = [*words, "numerics.cuda_graph=on", "-n", 1]
        self.assertIn("no layout of it needs less: --fit finds", self.said(*given, "--dry-run", **small))
        out = self.said(*given, "--dry-run", "--fit", **small)
        self.assertIn("ANOTHER JOB, with other numbers than with 2 micro-batches, is training.microbatches=4 ", out)
        self.assertIn("  microbatches: 4\n", out)

    def test_a_host_that_is_too_small_warns_and_names_fit_which_finds_micro_batches(self):
        small = self.groups(1024)
        out = self.said(*DCGAN, "-n", 1, "--dry-run", **small)
        self.assertRegex(out, "of the 1.00 GiB of the control group.*: --fit finds micro-batches that fit")
        self.assertNotIn("  microbatches: ", out)
        out = self.said(*DCGAN, "-n", 1, "--dry-run", "--fit", **small)
        self.assertIn("ANOTHER JOB, with other numbers than with 2 micro-batches, is training.microbatches=4 ", out)

    def test_a_job_trains_though_it_is_estimated_to_need_more(self):
        self.assertIn("no layout of it needs less", self.said(*RING, "-n", 1, "--run", "ring", **self.groups(260)))
        self.assertTrue((self.folder_of("ring") / "stats.jsonl").read_text())

    def test_precision_auto_has_the_bits_of_the_precision_that_it_says_and_keeps_it(self):
        out = self.said(*RING, "-n", 1, "--run", "open", "numerics.precision=auto")
        fastest = out.split("numerics.precision auto: generator ")[1][:4]
        self.assertIn(f"  precision: {fastest}\n", (self.folder_of("open") / "job.yaml").read_text())
        self.train(*RING, f"numerics.precision={fastest}", run="given", workers=2)
        self.assertEqual(self.digest("open"), self.digest("given"))
        out = self.said(*RING, "-n", 1, "--run", "open", "numerics.precision=auto", "training.kimg=2")
        self.assertIn("(as when the run was begun)", out)


if __name__ == "__main__":
    unittest.main()
