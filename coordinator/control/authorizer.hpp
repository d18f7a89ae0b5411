// SPDX-License-Identifier: MIT
// Decides which calls the control service admits, by token and rate. No sockets. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

#include "base/guarded.hpp"
#include "base/time.hpp"
#include "run/control/control_file.hpp"

namespace gangway::coordinator {

enum class Permission { kRead, kSteer };

/// A call's credentials and origin.
struct Caller {
  std::string_view authorization;  ///< "Bearer TOKEN"
  std::string_view user;           ///< name given by the client: "ann@node-a"
  std::string_view peer;           ///< address from gRPC: "unix:", "ipv4:127.0.0.1:4711"
};

class Authorizer {
 public:
  /// Calls a second and largest burst, separately for the reading and the steering token.
  static constexpr double kRate = 200.0;
  static constexpr double kBurst = 400.0;

  explicit Authorizer(ControlTokens tokens) : tokens_(std::move(tokens)) {}

  /// Returns OK or the refusal. Calls without a valid token use up no allowance.
  [[nodiscard]] grpc::Status admit(const Caller& caller, Permission permission, TimePoint now);

 private:
  /// Token bucket for the calls with one token.
  struct Allowance {
    double calls = kBurst;
    std::optional<TimePoint> last = {};
    /// Takes one call from the allowance. @return whether there was one
    [[nodiscard]] bool take(TimePoint now);
  };

  ControlTokens tokens_;
  Mutex mutex_;
  Allowance reading_ GANGWAY_GUARDED_BY(mutex_);
  Allowance steering_ GANGWAY_GUARDED_BY(mutex_);
};

/// Returns a printable, short name for the record: "ann@node-a by unix:".
[[nodiscard]] std::string name_of(const Caller& caller);

}  // namespace gangway::coordinator
