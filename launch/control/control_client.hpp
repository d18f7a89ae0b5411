// SPDX-License-Identifier: MIT
// Client of the control service: finds a run's coordinator and calls it, with a deadline for each
// call. gRPC; one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "run/control/control.grpc.pb.h"
#include "run/control/control_file.hpp"

namespace gangway::launch {

namespace wire = gangway::control::v1;

struct ControlAccess {
  std::filesystem::path run;         ///< run directory
  std::filesystem::path token_file;  ///< empty: the run's own token file
  std::chrono::milliseconds limit{5000};
};

class ControlClient {
 public:
  /// @throws EnvironmentError, with the remedy, if no running job can be reached from here
  explicit ControlClient(ControlAccess access);

  /// Makes one call. @throws ConfigError if the job refuses it; EnvironmentError if the job does
  /// not answer or denies this user access
  template <typename Request, typename Reply>
  [[nodiscard]] Reply ask(grpc::Status (wire::Control::Stub::*call)(grpc::ClientContext*,
                                                                    const Request&, Reply*),
                          const Request& request) {
    grpc::ClientContext context;
    prepare(context);
    context.set_deadline(std::chrono::system_clock::now() + access_.limit);
    Reply reply;
    require((stub_.get()->*call)(&context, request, &reply));
    return reply;
  }

  /// Passes replies to `take` until the job ends or `take` returns false. @throws as ask()
  void watch(const std::function<bool(const wire::WatchReply&)>& take);

 private:
  void prepare(grpc::ClientContext& context) const;
  void require(const grpc::Status& status) const;
  /// "unknown" if the coordinator does not report its version.
  [[nodiscard]] std::string coordinator_version() const;

  ControlAccess access_;
  ControlPlace place_;
  std::string token_;
  std::unique_ptr<wire::Control::Stub> stub_;
};

/// Phase of a run that has just started; coordinator/steering/job_status.hpp has the other phases.
inline constexpr std::string_view kStarting = "starting";

/// Returns "starting" or "ended" if the run's coordinator does not answer; empty if it answers or
/// has exited.
[[nodiscard]] std::string phase_of_unanswered(const std::filesystem::path& run);

/// Describes the newest start of a run whose coordinator does not answer: its state or its end.
[[nodiscard]] std::string end_of(const std::filesystem::path& run);

}  // namespace gangway::launch
