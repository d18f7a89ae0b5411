// SPDX-License-Identifier: MIT
// Schema keys for a number that changes in training (job/schedules/schedule.hpp): a map with the
// same words for every such number. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Meaning of a schedule's numbers: factors on a number, or the number itself.
enum class ScheduleOf { kFactor, kValue };

/// Returns "none, or a map of decay, warmup_kimg, …".
[[nodiscard]] std::string allowed_schedule(ScheduleOf of);
/// Reads a map, all of whose words must apply to it, or the word none.
/// @param bounds  of the first and the final value
[[nodiscard]] Read<ScheduleSpec> read_schedule(const YamlNode& node, ScheduleOf of,
                                               const RealBounds& bounds);
/// Returns a map on one line with the words that apply, or none.
[[nodiscard]] std::string schedule_text(const ScheduleSpec& schedule, ScheduleOf of);

/// Makes a key whose value is a whole schedule: `{decay: cosine, final: 0.99}`; a factor has
/// `final_factor`. Jobs that do not give it keep their fingerprints. A rule checks the numbers
/// against each other (job/rules/schedule_rules.cpp).
template <typename Field>
[[nodiscard]] Key schedule_key(std::string path, Field member, ScheduleOf of, RealBounds bounds,
                               std::string description) {
  const auto field = access_to(member);
  Key key =
      make_key({std::move(path), "", std::move(description)}, "none or map", allowed_schedule(of));
  key.set = [field, of, bounds](const YamlNode& node, JobSpec& job) {
    return read_schedule(node, of, bounds).put_into(field(job));
  };
  key.get = [field, of](const JobSpec& job) { return schedule_text(field(job), of); };
  key.is_fingerprinted_at_default = false;
  return key;
}

/// Appends `NETWORK.schedule.…`: a key per word for the learning rate, maps for the rest.
/// @param is_averaged  whether the network has a half-life
void add_schedule_keys(std::vector<Key>& keys, const std::string& network, NetworkId id,
                       bool is_averaged);

}  // namespace gangway
