// SPDX-License-Identifier: MIT
#include "coordinator/io/mpi_control.hpp"

#include <set>
#include <utility>

#include <mpi.h>

#include "comm/transport/mpi_session.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {

/// A started send or receive with its buffer, which must outlive it: an abandoned operation is
/// never touched again.
struct MpiControl::Operation {
  Rank rank{};
  std::string bytes;                        ///< received bytes
  std::shared_ptr<const std::string> sent;  ///< shared by all receivers until sent
  MPI_Request request = MPI_REQUEST_NULL;
};

MpiControl::MpiControl(const comm::MpiSession& session) : session_(session) {}

MpiControl::~MpiControl() = default;

void MpiControl::send(const std::vector<Rank>& ranks, std::string bytes) {
  const auto sent = std::make_shared<const std::string>(std::move(bytes));
  for (const Rank rank : ranks) {
    auto operation = std::make_unique<Operation>();
    operation->rank = rank;
    operation->sent = sent;
    const int result =
        MPI_Isend(sent->data(), static_cast<int>(sent->size()), MPI_BYTE, rank.value(), kControlTag,
                  session_.communicator(), &operation->request);
    if (result == MPI_SUCCESS) {
      sends_.push_back(std::move(operation));
    }
    // Otherwise the receiver is gone; its lifeline reports that.
  }
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
    if (MPI_Iprobe(MPI_ANY_SOURCE, kControlTag, session_.communicator(), &found, &status) !=
            MPI_SUCCESS ||
        found == 0) {
      return;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    auto operation = std::make_unique<Operation>();
    operation->rank = Rank(status.MPI_SOURCE);
    operation->bytes.resize(static_cast<std::size_t>(size));
    if (MPI_Irecv(operation->bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, kControlTag,
                  session_.communicator(), &operation->request) != MPI_SUCCESS) {
      return;
    }
    receives_.push_back(std::move(operation));
  }
}

std::optional<ReceivedMessage> MpiControl::poll() {
  finish_sends();
  start_receives();
  // A large message may complete after a small one that was sent later. Returns no message of a
  // rank while an earlier one of that rank is under way.
  std::set<Rank> waiting;
  for (auto operation = receives_.begin(); operation != receives_.end(); ++operation) {
    if (waiting.contains((*operation)->rank)) {
      continue;
    }
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
    waiting.insert((*operation)->rank);
  }
  return std::nullopt;
}

}  // namespace gangway::coordinator
