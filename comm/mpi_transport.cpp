// SPDX-License-Identifier: MIT
#include "comm/mpi_transport.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>
#include <sched.h>

#include "job/errors.hpp"

namespace gangway::comm {
namespace {

constexpr int kPumpEvery = 64;  // polls

void check(int code, const char* what, int peer) {
  if (code != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw CommError(fmt::format("{} with worker {} failed: {}", what, peer, text.data()));
  }
}

int count_of(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InvariantError(fmt::format(
        "a message of {} bytes is larger than MPI takes in one piece; use more buckets", bytes));
  }
  return static_cast<int>(bytes);
}

}  // namespace

MpiTransport::MpiTransport(const MpiSession& session, std::int64_t epoch,
                           std::function<void()> pump)
    : session_(session), epoch_(epoch), pump_(std::move(pump)) {}

RequestId MpiTransport::start(const Operation& operation) {
  if (free_.empty()) {
    operations_.push_back(operation);
    free_.reserve(operations_.capacity());
    return operations_.size() - 1;
  }
  const RequestId request = free_.back();
  free_.pop_back();
  operations_[request] = operation;
  return request;
}

RequestId MpiTransport::start_send(int peer, MessageTag tag, std::span<const std::byte> bytes) {
  Operation operation{MPI_REQUEST_NULL, true, peer, 0, false};
  check(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, peer + 1, tag.packed(),
                  session_.communicator(), &operation.request),
        "MPI_Isend", peer);
  count_sent(bytes.size());
  return start(operation);
}

RequestId MpiTransport::start_receive(int peer, MessageTag tag, std::span<std::byte> bytes) {
  Operation operation{MPI_REQUEST_NULL, true, peer, bytes.size(), true};
  check(MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, peer + 1, tag.packed(),
                  session_.communicator(), &operation.request),
        "MPI_Irecv", peer);
  return start(operation);
}

bool MpiTransport::done(RequestId request) {
  Operation& operation = operations_[request];
  if (!operation.active) {
    return true;
  }
  int finished = 0;
  MPI_Status status{};
  const int code = MPI_Test(&operation.request, &finished, &status);
  if (code == MPI_SUCCESS && finished == 0) {
    return false;
  }
  operation.active = false;
  free_.push_back(request);
  check(code, "a message", operation.peer);
  if (operation.receives) {
    int received = 0;
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (static_cast<std::size_t>(received) != operation.expected_bytes) {
      throw CommError(
          fmt::format("worker {}: worker {} sent {} bytes where {} were expected; were the workers "
                      "built from one job?",
                      worker(), operation.peer, received, operation.expected_bytes));
    }
  }
  idle_polls_ = 0;
  return true;
}

void MpiTransport::idle() {
  if (++idle_polls_ % kPumpEvery == 0) {
    pump_();
  }
  (void)sched_yield();  // with no core to itself the lane must not keep a peer from computing
}

}  // namespace gangway::comm
