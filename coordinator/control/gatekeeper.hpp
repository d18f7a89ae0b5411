// SPDX-License-Identifier: MIT
// Who may call the control service, and how often. Knows tokens and names, no sockets. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

#include "base/guarded.hpp"
#include "base/time.hpp"
#include "run/control/control_file.hpp"

namespace gangway::coordinator {

enum class Right { kRead, kSteer };

/// What a call says of itself.
struct Caller {
  std::string_view authorization;  ///< "Bearer TOKEN"
  std::string_view user;           ///< as it calls itself: "ann@node-a"
  std::string_view peer;           ///< as gRPC knows it: "unix:", "ipv4:127.0.0.1:4711"
};

class Gatekeeper {
 public:
  /// Calls a second, and at once: so many by those who may read, and as many by those who steer.
  static constexpr double kRate = 200.0;
  static constexpr double kBurst = 400.0;

  explicit Gatekeeper(ControlTokens tokens) : tokens_(std::move(tokens)) {}

  /// OK, or why the call is refused. Those without a token cost the others nothing.
  [[nodiscard]] grpc::Status admit(const Caller& caller, Right right, TimePoint now);

 private:
  /// Of the calls with one token.
  struct Allowance {
    double calls = kBurst;
    std::optional<TimePoint> last = {};
    /// Whether there is one more.
    [[nodiscard]] bool take(TimePoint now);
  };

  ControlTokens tokens_;
  Mutex mutex_;
  Allowance reading_ GANGWAY_GUARDED_BY(mutex_);
  Allowance steering_ GANGWAY_GUARDED_BY(mutex_);
};

/// For the record: "ann@node-a by unix:", printable and short.
[[nodiscard]] std::string name_of(const Caller& caller);

}  // namespace gangway::coordinator
