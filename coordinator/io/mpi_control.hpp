// SPDX-License-Identifier: MIT
// The coordinator's side of the control messages: whole messages to and from every worker, by
// non-blocking, polled MPI operations on a communicator of their own. Owned by main(), used on its
// thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace gangway::comm {
class MpiSession;
}

namespace gangway::coordinator {

struct ReceivedMessage {
  Rank rank{};
  std::string bytes;
};

class MpiControl {
 public:
  /// @param session  of this process; must outlive this object
  explicit MpiControl(const comm::MpiSession& session);
  ~MpiControl();
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;

  /// Queues one message to each of `ranks`. Never waits; a dead receiver is not an error.
  void send(const std::vector<Rank>& ranks, std::string bytes);
  /// Makes progress. Returns the next whole message, if one has arrived. Messages of one rank
  /// arrive in the order of sending.
  [[nodiscard]] std::optional<ReceivedMessage> poll();
  /// Whether all sends are complete.
  [[nodiscard]] bool idle() const { return sends_.empty(); }

 private:
  struct Operation;

  void start_receives();
  void finish_sends();

  const comm::MpiSession& session_;
  std::list<std::unique_ptr<Operation>> sends_;
  std::list<std::unique_ptr<Operation>> receives_;
};

}  // namespace gangway::coordinator
