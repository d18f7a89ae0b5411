// SPDX-License-Identifier: MIT
// Converts the coordinator's plain values to the control service's Protobuf messages. Pure, any
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

/// Replaces invalid UTF-8 by '?', because Protobuf cannot parse it.
[[nodiscard]] std::string as_utf8(std::string text);

void fill(wire::StatusReply& reply, const JobStatus& status);
void fill(wire::Tick& reply, const report::Tick& tick);
/// @return the call's final status
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
