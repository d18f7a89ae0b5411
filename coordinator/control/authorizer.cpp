// SPDX-License-Identifier: MIT
#include "coordinator/control/authorizer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/secret.hpp"
#include "base/text/utf8.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

bool Authorizer::Allowance::take(TimePoint now) {
  calls = std::min(kBurst, calls + kRate * seconds(now - last.value_or(now)));
  last = now;
  if (calls < 1.0) {
    return false;
  }
  calls -= 1.0;
  return true;
}

grpc::Status Authorizer::admit(const Caller& caller, Permission permission, TimePoint now) {
  if (!caller.authorization.starts_with(kBearer)) {
    return {
        grpc::StatusCode::UNAUTHENTICATED,
        "a token is missing: send that of control.steer or control.read in the run directory as "
        "the metadata 'authorization: Bearer TOKEN'"};
  }
  const std::string_view token = caller.authorization.substr(kBearer.size());
  const bool steers = is_same_secret(token, tokens_.steer);
  const bool reads = is_same_secret(token, tokens_.read);
  if (!steers && !reads) {
    return {grpc::StatusCode::UNAUTHENTICATED,
            "the token is not this job's: each start of a run has its own"};
  }
  if (permission == Permission::kSteer && !steers) {
    return {grpc::StatusCode::PERMISSION_DENIED, "this token may read, and not steer"};
  }
  const MutexLock lock(mutex_);
  // Reading calls have their own allowance, so that a polling client cannot block pause or stop.
  if (!(steers ? steering_ : reading_).take(now)) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("too many calls: at most {} a second", kRate)};
  }
  return grpc::Status::OK;
}

std::string name_of(const Caller& caller) {
  const std::string user = caller.user.empty() ? "unnamed user" : shown(caller.user);
  std::string_view peer = caller.peer;
  peer.remove_suffix(peer.ends_with(':') ? 1 : 0);  // "unix:" has no name
  return fmt::format("{} by {}", user, shown(peer));
}

}  // namespace gangway::coordinator
