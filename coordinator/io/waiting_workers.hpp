// SPDX-License-Identifier: MIT
// Sends Patience or a refusal to workers that wait for their Welcome. Called by the coordinator's
// main(), on its thread, before the event loop exists.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "coordinator/io/mpi_control.hpp"

namespace gangway::coordinator {

/// Runs `work`, which may read the disk for long, on another thread. Sends the waiting workers
/// Patience every `period`. Rethrows exceptions of `work`.
void while_workers_wait(MpiControl& mpi, int num_workers, const std::function<void()>& work,
                        std::chrono::milliseconds period = std::chrono::seconds(10));

/// Tells all workers that there will be no Welcome, and waits a limited time for their Goodbyes.
/// @return whether all said Goodbye, so that MPI_Finalize is safe
bool refuse_workers(MpiControl& mpi, int num_workers, int exit_code, const std::string& reason);

}  // namespace gangway::coordinator
