// SPDX-License-Identifier: MIT
// From the coordinator's plain values to the control service's messages. Protobuf; pure, any
// thread.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "coordinator/steering/command.hpp"
#include "coordinator/steering/job_status.hpp"
#include "report/tick.hpp"
#include "run/control/control.pb.h"

namespace gangway::coordinator {

namespace wire = gangway::control::v1;

/// What is not UTF-8 becomes '?': a message with it could not be read.
[[nodiscard]] std::string as_utf8(std::string text);

void fill(wire::StatusReply& reply, const JobStatus& status);
void fill(wire::Tick& reply, const report::Tick& tick);
/// @return what the call ends with
[[nodiscard]] grpc::Status fill(wire::CommandReply& reply, const CommandAnswer& answer);

[[nodiscard]] Order order_of(const wire::PauseRequest& request);
[[nodiscard]] Order order_of(const wire::ResumeRequest& request);
[[nodiscard]] Order order_of(const wire::CheckpointRequest& request);
[[nodiscard]] Order order_of(const wire::SetRequest& request);
[[nodiscard]] Order order_of(const wire::TraceRequest& request);
[[nodiscard]] Order order_of(const wire::DrainRequest& request);
[[nodiscard]] Order order_of(const wire::ResizeRequest& request);
[[nodiscard]] Order order_of(const wire::StopRequest& request);

}  // namespace gangway::coordinator
