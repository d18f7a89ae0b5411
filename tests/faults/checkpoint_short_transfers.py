#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saves and loads where every write and read moves a part of what was asked for and every third one is interrupted: the same
bytes are on the disk in the end, through the kernel's cache and past it.
"""

import argparse
import os
import subprocess
import sys
import tempfile


def save(writer: str, directory: str, elements: int, environment: dict) -> None:
    subprocess.run([writer, "write", directory, "2", str(elements)], check=True, stdout=subprocess.DEVNULL, env=environment)


def contents(directory: str) -> dict[str, bytes]:
    files = {}
    for step in os.listdir(directory):
        for name in os.listdir(os.path.join(directory, step)):
            with open(os.path.join(directory, step, name), "rb") as file:
                if name.endswith(".safetensors"):
                    files[os.path.join(step, name)] = file.read()
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--preload", required=True, help="path of the short_transfers library")
    arguments = parser.parse_args()
    whole = dict(os.environ)
    short = {**whole, "LD_PRELOAD": arguments.preload}
    for elements in (12_000, 300_000):
        with tempfile.TemporaryDirectory(prefix="gangway-short-") as work:
            expected, tried = os.path.join(work, "whole"), os.path.join(work, "short")
            save(arguments.writer, expected, elements, whole)
            save(arguments.writer, tried, elements, short)
            if contents(expected) != contents(tried):
                sys.exit(f"{elements} elements: short transfers gave other bytes")
            for environment in (whole, short):
                checked = subprocess.run([arguments.writer, "check", tried], capture_output=True, text=True, env=environment)
                if checked.stdout != "step 2\n" or checked.stderr:
                    sys.exit(f"{elements} elements: {checked.stdout}{checked.stderr}")
        print(f"{elements} elements a tensor: same bytes")


if __name__ == "__main__":
    main()
