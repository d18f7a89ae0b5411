# SPDX-License-Identifier: MIT
"""The environment in which tests start commands."""
import os


def environment(restarts=0, **more):
    """Without what an outer mpirun or Slurm may have set."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_", "GANGWAY_"))}
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # A job that is lost ends, but where a test is about its going on (restarts=None there), and no busy machine makes it start
    # again with other shares.
    allowed |= {"GANGWAY_LAYOUT_BALANCE": "off"} | ({} if restarts is None else {"GANGWAY_LAYOUT_RESTARTS": str(restarts)})
    # Data of tests are not to be remembered in the home of who runs them.
    return clean | allowed | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": "/dev/null/nowhere"} | more
