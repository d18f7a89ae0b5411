// SPDX-License-Identifier: MIT
#include "coordinator/mpi_control.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "job/control_protocol.hpp"
#include "job/errors.hpp"

namespace gangway::coordinator {
namespace {

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw EnvironmentError(
      fmt::format("{}: {}: start the job with mpirun, or with gangway run", what, text));
}

}  // namespace

struct MpiControl::Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
};

/// A started send or receive and its buffer, which must outlive it: an abandoned one is never
/// touched again.
struct MpiControl::Operation {
  int rank = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

MpiControl::MpiControl() : communicator_(std::make_unique<Communicator>()) {
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  // MPI's TCP transport writes to dead peers; the signal would end this process in silence.
  std::signal(SIGPIPE, SIG_IGN);
  check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_->handle), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(communicator_->handle, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(communicator_->handle, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_->handle, &size_), "MPI_Comm_size");
}

MpiControl::~MpiControl() = default;

void MpiControl::send(int rank, std::string bytes) {
  auto operation = std::make_unique<Operation>();
  operation->rank = rank;
  operation->bytes = std::move(bytes);
  const int result =
      MPI_Isend(operation->bytes.data(), static_cast<int>(operation->bytes.size()), MPI_BYTE, rank,
                kControlTag, communicator_->handle, &operation->request);
  if (result == MPI_SUCCESS) {
    sends_.push_back(std::move(operation));
  }
  // Otherwise the receiver is gone, which its lifeline tells.
}

void MpiControl::finish_sends() {
  sends_.remove_if([](const std::unique_ptr<Operation>& operation) {
    int done = 0;
    const int result = MPI_Test(&operation->request, &done, MPI_STATUS_IGNORE);
    return result != MPI_SUCCESS || done != 0;
  });
}

void MpiControl::start_receives() {
  for (;;) {
    int found = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kControlTag, communicator_->handle, &found, &status) !=
            MPI_SUCCESS ||
        found == 0) {
      return;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    auto operation = std::make_unique<Operation>();
    operation->rank = status.MPI_SOURCE;
    operation->bytes.resize(static_cast<std::size_t>(size));
    if (MPI_Irecv(operation->bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, kControlTag,
                  communicator_->handle, &operation->request) != MPI_SUCCESS) {
      return;
    }
    receives_.push_back(std::move(operation));
  }
}

std::optional<ReceivedMessage> MpiControl::poll() {
  finish_sends();
  start_receives();
  for (auto operation = receives_.begin(); operation != receives_.end(); ++operation) {
    int done = 0;
    if (MPI_Test(&(*operation)->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      receives_.erase(operation);
      return std::nullopt;
    }
    if (done != 0) {
      ReceivedMessage message{.rank = (*operation)->rank, .bytes = std::move((*operation)->bytes)};
      receives_.erase(operation);
      return message;
    }
  }
  return std::nullopt;
}

void MpiControl::finalize(int exit_code) {
  constexpr std::chrono::seconds kPatience{3};
  std::mutex mutex;
  std::condition_variable_any ended;
  const std::jthread watch([&](const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    // True only by the stop that comes with the end of this function.
    if (!ended.wait_for(lock, stop, kPatience, [&] { return stop.stop_requested(); })) {
      ::_exit(exit_code);
    }
  });
  MPI_Finalize();
}

}  // namespace gangway::coordinator
