// SPDX-License-Identifier: MIT
// Watches over the coordinator until all ranks have met. Created by its main().
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <unistd.h>

#include "base/errors.hpp"
#include "coordinator/resume/start.hpp"

namespace gangway::coordinator {

/// Ends the process when a rank never arrives or a signal comes, because MPI_Init waits forever.
class StartWatch {
 public:
  /// @param run  run directory, if chosen: receives the status at the end
  StartWatch(boost::asio::io_context& io, boost::asio::signal_set& signals,
             std::chrono::milliseconds deadline, std::filesystem::path run)
      : io_(io), signals_(signals), run_(std::move(run)) {
    wait_for_signal();
    thread_ = std::thread([this, deadline] {
      io_.run_for(deadline);
      if (!met_) {
        leave(ExitCode::kWorkerLost,
              "not every rank reached MPI_Init in time: did a worker fail to start, or is a host "
              "cut off? try 'gangway doctor'");
      }
    });
  }

  /// Stops the watch: all ranks have met, and the event loop takes over.
  void end() {
    met_ = true;
    boost::system::error_code ignored;  // nothing to cancel if a signal just came
    signals_.cancel(ignored);
    io_.stop();
    thread_.join();
    io_.restart();
  }

 private:
  void wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) {
        return;
      }
      if (signal != SIGUSR2) {
        leave(ExitCode::kPreempted,
              "stopped on request before the ranks had met: the same command continues");
      }
      wait_for_signal();  // nothing to save yet
    });
  }

  void leave(ExitCode code, const std::string& reason) {
    // Writes the status first: mpirun may end this process at any moment, and `gangway run` prints
    // its own line without one.
    if (!run_.empty()) {
      try_write_status(run_, {.exit_code = static_cast<int>(code), .reason = reason});
    }
    std::cerr << "gangway: " << reason << std::endl;
    ::_exit(static_cast<int>(code));
  }

  boost::asio::io_context& io_;
  boost::asio::signal_set& signals_;
  std::filesystem::path run_;
  std::atomic<bool> met_ = false;
  std::thread thread_;
};

}  // namespace gangway::coordinator
