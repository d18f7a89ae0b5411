// SPDX-License-Identifier: MIT
#include "coordinator/steering/command.hpp"

namespace gangway::coordinator {
namespace {

SteeringEvent event(const PauseJob& /*order*/) { return {.command = "pause"}; }
SteeringEvent event(const ResumeJob& /*order*/) { return {.command = "resume"}; }
SteeringEvent event(const SaveCheckpoint& order) {
  return {.command = "checkpoint", .arguments = {{"pin", order.pin ? "true" : "false"}}};
}
SteeringEvent event(const SetKey& order) {
  return {.command = "set", .arguments = {{"key", order.key}, {"value", order.value}}};
}
SteeringEvent event(const TraceJob& order) {
  return {
      .command = "trace",
      .arguments = {{"begin", std::to_string(order.begin)}, {"end", std::to_string(order.end)}}};
}
SteeringEvent event(const DrainWorkers& order) {
  return {.command = "drain", .arguments = {{"host", order.name}}};
}
SteeringEvent event(const ResizeJob& order) {
  return {.command = "resize", .arguments = {{"workers", std::to_string(order.workers)}}};
}
SteeringEvent event(const StopJob& /*order*/) { return {.command = "stop"}; }

}  // namespace

SteeringEvent event_of(const Order& order) {
  return std::visit([](const auto& one) { return event(one); }, order);
}

}  // namespace gangway::coordinator
