// SPDX-License-Identifier: MIT
// What workers are told before their Welcome: to be patient, or that there will be none. Called by
// the coordinator's main, on its thread, before there is an event loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "coordinator/edges/mpi_control.hpp"

namespace gangway::coordinator {

/// Carries `work` out, which reads the disk for however long, while the workers, who wait for their
/// Welcome, are told every `period` that somebody lives. Rethrows what it throws.
void while_workers_wait(MpiControl& mpi, int num_workers, const std::function<void()>& work,
                        std::chrono::milliseconds period = std::chrono::seconds(10));

/// Tells all workers, who wait for their Welcome, that there will be none, and gives them time to
/// say Goodbye.
/// @return whether all did: MPI_Finalize is safe.
bool refuse_workers(MpiControl& mpi, int num_workers, int exit_code, const std::string& reason);

}  // namespace gangway::coordinator
