#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway doctor` with emulations of nvidia-smi and of the NCCL measurement.

    GANGWAY_BIN=build/release/bin doctor_gpus.py [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["GANGWAY_BIN"]).resolve()

SMI = """#!/bin/sh
case "$*" in
  *--query-gpu*) for gpu in 0 1; do echo "NVIDIA H100 80GB HBM3, 81559, {driver}, 9.0, Enabled, 0"; done ;;
  *-p2p*) printf '\\tGPU0\\tGPU1\\n GPU0\\tX\\tOK\\n GPU1\\tOK\\tX\\n' ;;
  *topo*) printf '\\tGPU0\\tGPU1\\tCPU Affinity\\nGPU0\\t X \\tNV18\\t0-55\\nGPU1\\tNV18\\t X \\t0-55\\n' ;;
esac
"""
NCCL = """#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exit 0
echo '{"workers":2,"rows":[{"row":"NCCL","bytes":67108864,"median_seconds":0.001,"bytes_per_second":5e9}]}'
"""


class DoctorGpus(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for program in PROGRAMS.iterdir():
            if program.name in ("gangway", "gangway-tools"):  # these find the other programs in their folder
                shutil.copy(program, self.folder)
            elif program.name != "gangway-bench-nccl":
                (self.folder / program.name).symlink_to(program)

    def play(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def doctor(self):
        done = subprocess.run([self.folder / "gangway", "doctor", "--json"], capture_output=True, text=True, cwd=self.folder, timeout=60,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        return done.returncode, {finding["item"]: finding for finding in json.loads(done.stdout)["findings"]}

    def test_gpus_links_and_bandwidth(self):
        self.play("nvidia-smi", SMI.format(driver="580.65.06"))
        self.play("gangway-bench-nccl", NCCL)
        code, found = self.doctor()
        self.assertEqual(code, 0, found)
        self.assertEqual(found["GPUs"]["detail"], "2 x NVIDIA H100 80GB HBM3, 80 GiB")
        self.assertEqual(found["GPU links"]["detail"], "NVLink between all (NV18)")
        self.assertEqual(found["NCCL"]["health"], "note")  # 5 GB/s over NVLink
        self.assertIn("5.0 GB/s, far less than NVLink carries", found["NCCL"]["detail"])

    def test_what_fails_is_one_line_with_its_words(self):
        self.play("nvidia-smi", SMI.format(driver="580.65.06"))
        self.play("gangway-bench-nccl", "#!/bin/sh\necho 'unhandled system error' >&2\nexit 3\n")
        code, found = self.doctor()
        self.assertEqual((code, found["NCCL"]["health"]), (6, "bad"), found)
        self.assertNotIn("\n", found["NCCL"]["detail"])

    def test_an_old_driver_is_told_and_not_measured_with(self):
        self.play("nvidia-smi", SMI.format(driver="470.1"))
        code, found = self.doctor()
        self.assertEqual((code, found["NVIDIA driver"]["health"]), (6, "bad"))
        self.assertNotIn("NCCL", found)


if __name__ == "__main__":
    unittest.main()
