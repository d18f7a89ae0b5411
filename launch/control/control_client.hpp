// SPDX-License-Identifier: MIT
// The other end of the control service: finds the coordinator of a run and asks it, each time with
// a deadline. gRPC; one thread.
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
  std::filesystem::path run;         ///< directory
  std::filesystem::path token_file;  ///< empty: the run's own
  std::chrono::milliseconds limit{5000};
};

class ControlClient {
 public:
  /// @throws EnvironmentError where no job runs that can be asked from here: which, and what to do
  explicit ControlClient(ControlAccess access);

  /// One call. @throws ConfigError for what the job refuses, EnvironmentError where it does not
  /// answer or does not let this user
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

  /// Until the job ends, or `take` returns false. @throws as ask()
  void watch(const std::function<bool(const wire::WatchReply&)>& take);

 private:
  void prepare(grpc::ClientContext& context) const;
  void require(const grpc::Status& status) const;
  /// "unknown" where it does not say.
  [[nodiscard]] std::string coordinator_version() const;

  ControlAccess access_;
  ControlPlace place_;
  std::string token_;
  std::unique_ptr<wire::Control::Stub> stub_;
};

/// In the answer of a run that has begun: coordinator/steering/job_status.hpp has the others.
inline constexpr std::string_view kStarting = "starting";

/// The phase of a run whose coordinator does not answer: "starting" or "ended"; empty where the
/// coordinator answers, or is gone.
[[nodiscard]] std::string phase_of_unanswered(const std::filesystem::path& run);

/// For people: the state or the end of the newest start of a run whose coordinator does not answer.
[[nodiscard]] std::string end_of(const std::filesystem::path& run);

}  // namespace gangway::launch
