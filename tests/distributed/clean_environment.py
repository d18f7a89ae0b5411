# SPDX-License-Identifier: MIT
"""Makes the environment in which tests start commands."""
import os


def environment(restarts=0, **more):
    """Removes the variables that an outer mpirun or Slurm may have set."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PRTE_", "SLURM_", "GANGWAY_"))}
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # A lost job ends, except in tests of restarts (restarts=None). A slow worker on a busy machine must not make the job start
    # again with other shares.
    allowed |= {"GANGWAY_LAYOUT_BALANCE": "off"} | ({} if restarts is None else {"GANGWAY_LAYOUT_RESTARTS": str(restarts)})
    # No record of the tests' data in the home of the calling user.
    return clean | allowed | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": "/dev/null/nowhere"} | more
