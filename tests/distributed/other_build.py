# SPDX-License-Identifier: MIT
"""Makes programs of another build: copies with another id in their bytes (base/build_id.hpp)."""
import re
import shutil
import subprocess
from pathlib import Path

from train_command import GANGWAY, PROGRAMS

OTHER = "fedcba9876543210"


def build_id():
    """Returns the build id of the programs under test."""
    return re.search(r"\(build ([0-9a-f]{16})\)", subprocess.check_output([GANGWAY, "--version"], text=True)).group(1)


def copy_programs(folder, others):
    """Copies `gangway`, its tools, its coordinator and its worker to `folder`. @param others  get another build id"""
    folder.mkdir()
    for name in ("gangway", "gangway-tools", "gangway-coordinator", "gangway-worker"):
        copy = Path(shutil.copy(PROGRAMS / name, folder))
        if name in others:
            content = copy.read_bytes()
            assert build_id().encode() in content, f"{name} does not know its build"
            copy.write_bytes(content.replace(build_id().encode(), OTHER.encode()))
    return folder
