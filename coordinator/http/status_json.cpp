// SPDX-License-Identifier: MIT
#include "coordinator/http/status_json.hpp"

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gangway::coordinator {
namespace {

using nlohmann::ordered_json;

template <typename Value>
ordered_json value_or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json workers_json(const JobStatus& status) {
  ordered_json list = ordered_json::array();
  for (const WorkerStatus& worker : status.workers) {
    list.push_back({{"rank", worker.rank},
                    {"host", worker.host},
                    {"device", worker.device},
                    {"pid", worker.pid},
                    {"state", worker.state},
                    {"microbatches", {worker.microbatches.begin, worker.microbatches.end}},
                    {"networks", worker.networks},
                    {"steps_done", worker.steps_done},
                    {"work_seconds_per_step", worker.work_seconds_per_step},
                    {"wait_seconds_per_step", worker.wait_seconds_per_step},
                    {"data_seconds_per_step", worker.data_seconds_per_step},
                    {"resident_bytes", worker.memory.resident_bytes},
                    {"allocated_bytes", worker.memory.allocated_bytes},
                    {"reserved_bytes", worker.memory.reserved_bytes},
                    {"peak_bytes", worker.memory.peak_bytes},
                    {"sent_mib_per_step", worker.sent_mib_per_step},
                    {"is_straggler", worker.is_straggler}});
  }
  return list;
}

ordered_json losses_json(const JobStatus& status) {
  ordered_json losses = ordered_json::array();
  for (const report::NetworkLoss& loss : status.losses) {
    losses.push_back({{"network", loss.network}, {"loss", loss.loss}});
  }
  return losses;
}

}  // namespace

std::string status_json(const JobStatus& status) {
  ordered_json object = {{"phase", name_of(status.phase)},
                         {"incarnation", status.incarnation},
                         {"restarts", status.restarts},
                         {"unix_seconds", status.unix_seconds},
                         {"seconds_up", status.seconds_up},
                         {"waits_for", status.waits_for},
                         {"step", status.step},
                         {"total_steps", status.total_steps},
                         {"kimg", status.kimg},
                         {"total_kimg", status.total_kimg},
                         {"step_seconds", status.step_seconds},
                         {"images_per_second", status.images_per_second},
                         {"seconds_left", value_or_null(status.seconds_left)},
                         {"losses", losses_json(status)},
                         {"workers", workers_json(status)},
                         {"pause", nullptr},
                         {"checkpoint", nullptr},
                         {"snapshot_step", value_or_null(status.snapshot_step)},
                         {"pictures", status.pictures.size()},
                         {"newest_picture", nullptr}};
  if (status.pause) {
    object["pause"] = {{"unix_seconds", status.pause->unix_seconds}, {"by", status.pause->by}};
  }
  if (status.checkpoint) {
    object["checkpoint"] = {{"step", status.checkpoint->step},
                            {"age_kimg", status.checkpoint->age_kimg},
                            {"age_seconds", value_or_null(status.checkpoint->age_seconds)}};
  }
  if (!status.pictures.empty()) {
    object["newest_picture"] = status.pictures.back();
  }
  // Names of hosts and devices may hold invalid UTF-8.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace gangway::coordinator
