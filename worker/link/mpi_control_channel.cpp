// SPDX-License-Identifier: MIT
#include "worker/link/mpi_control_channel.hpp"

#include "run/control_protocol.hpp"

namespace gangway::worker {

void MpiControlChannel::send(std::string bytes) {
  {
    const MutexLock lock(mutex_);
    outbox_.push_back(std::move(bytes));
    ++unsent_;
  }
  if (wake_) {
    wake_();
  }
}

std::optional<std::string> MpiControlChannel::try_receive() {
  const MutexLock lock(mutex_);
  if (inbox_.empty()) {
    return std::nullopt;
  }
  std::string bytes = std::move(inbox_.front());
  inbox_.pop_front();
  return bytes;
}

bool MpiControlChannel::wait(std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit,
                           [this]() GANGWAY_REQUIRES(mutex_) { return !inbox_.empty(); });
}

bool MpiControlChannel::flush(std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit, [this]() GANGWAY_REQUIRES(mutex_) { return unsent_ == 0; });
}

void MpiControlChannel::pump() {
  start_queued();
  reap_sent();
  receive_waiting();
}

void MpiControlChannel::start_queued() {
  std::deque<std::string> queued;
  {
    const MutexLock lock(mutex_);
    queued.swap(outbox_);
  }
  for (std::string& bytes : queued) {
    Outgoing& message = in_flight_.emplace_back(Outgoing{std::move(bytes), MPI_REQUEST_NULL});
    // Ignored: an error means that rank 0 is gone, and its lifeline then ends this process.
    (void)MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, 0,
                    kControlTag, session_.communicator(), &message.request);
  }
}

void MpiControlChannel::reap_sent() {
  const std::size_t reaped = std::erase_if(in_flight_, [](Outgoing& message) {
    int finished = 0;
    const int code = MPI_Test(&message.request, &finished, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || finished != 0;
  });
  if (reaped > 0) {
    const MutexLock lock(mutex_);
    unsent_ -= reaped;
    changed_.notify_all();
  }
}

void MpiControlChannel::receive_waiting() {
  int waiting = 0;
  MPI_Status status{};
  while (MPI_Iprobe(0, kControlTag, session_.communicator(), &waiting, &status) == MPI_SUCCESS &&
         waiting != 0) {
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (MPI_Recv(bytes.data(), size, MPI_BYTE, 0, kControlTag, session_.communicator(),
                 MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      return;
    }
    const MutexLock lock(mutex_);
    inbox_.push_back(std::move(bytes));
    changed_.notify_all();
  }
}

}  // namespace gangway::worker
