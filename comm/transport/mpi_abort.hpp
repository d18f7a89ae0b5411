// SPDX-License-Identifier: MIT
// Open MPI 4.1 calls ompi_rte_abort, which ends the process, when a queued message's peer has died
// (completions of its pml ob1). So one dead worker would end its main partners before they save
// their snapshots. Each of them would look like the first failure.
#pragma once

namespace gangway::comm {

/// Makes threads stop forever where MPI would end the process. Call it only in a process that
/// learns of losses on a thread that never calls MPI, and that exits without MPI.
void survive_mpi_aborts();

}  // namespace gangway::comm
