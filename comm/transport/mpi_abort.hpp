// SPDX-License-Identifier: MIT
// Open MPI 4.1 ends a process in which a message still waits to be sent to a peer that has died
// (the completions of its pml ob1 call ompi_rte_abort). One dead worker would so take along those
// that exchange much with it: before they have kept their snapshots, and each of them looking like
// the first to fail.
#pragma once

namespace gangway::comm {

/// From here on a thread that MPI would end the process from stops for good instead. Only for who
/// is told of losses otherwise, by a thread that never calls MPI, and then leaves without MPI.
void survive_mpi_aborts();

}  // namespace gangway::comm
