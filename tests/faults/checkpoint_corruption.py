#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flips random bits of checkpoints and cuts their files off: every damage must be found, none may crash the reader.

One flip in twenty hits a checkpoint of several chunks a file, the others a small one. In shared memory, because each
flip is a write. Prints the counts; exit code 1 at the first damage that passes.
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile
import time

SHARED_MEMORY = "/dev/shm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--corruption", required=True, help="path of the checkpoint_corruption program")
    parser.add_argument("--flips", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_261_121)
    arguments = parser.parse_args()
    began = time.monotonic()
    folder = SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None
    sizes = ((1_000, arguments.flips - arguments.flips // 20), (1_200_000, arguments.flips // 20))
    for number, (elements, flips) in enumerate(sizes):
        with tempfile.TemporaryDirectory(prefix="gangway-flips-", dir=folder) as directory:
            subprocess.run([arguments.writer, "write", directory, "1", str(elements)], check=True, stdout=subprocess.DEVNULL)
            checkpoint = glob.glob(os.path.join(directory, "step-*"))[0]
            result = subprocess.run([arguments.corruption, checkpoint, str(flips), str(arguments.seed + number)],
                                    capture_output=True, text=True)
            if result.returncode != 0:
                sys.exit(f"seed {arguments.seed + number}: exit {result.returncode}: {result.stderr.strip()}")
            print(f"{elements} elements a tensor: {result.stdout.strip()}", flush=True)
    print(f"{time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
