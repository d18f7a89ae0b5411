// SPDX-License-Identifier: MIT
// Keys about a number that changes while it is trained (job/schedules/schedule.hpp): a map with the
// same words, whatever the number is. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// What the numbers of a schedule are: factors on something, or the thing itself.
enum class ScheduleOf { kFactor, kValue };

/// "none, or a map of decay, warmup_kimg, …".
[[nodiscard]] std::string allowed_schedule(ScheduleOf of);
/// Of a map, all of whose words have a meaning in it, or of the word none.
/// @param bounds  of what it begins with and comes to
[[nodiscard]] Read<ScheduleSpec> read_schedule(const YamlNode& node, ScheduleOf of,
                                               const RealBounds& bounds);
/// A map on one line, of the words that have a meaning, or none.
[[nodiscard]] std::string schedule_text(const ScheduleSpec& schedule, ScheduleOf of);

/// A key whose value is a whole schedule: `{decay: cosine, final: 0.99}`, and `final_factor` of
/// one that is a factor. Jobs that do not name it keep their fingerprints. What its numbers ask of
/// one another is a rule (job/rules/schedule_rules.cpp).
template <typename Field>
[[nodiscard]] Key schedule_key(KeyText text, Field field, ScheduleOf of, RealBounds bounds) {
  Key key = make_key(std::move(text), "none or map", allowed_schedule(of));
  key.set = [field, of, bounds](const YamlNode& node, JobSpec& job) {
    auto read = read_schedule(node, of, bounds);
    if (read.complaint.empty()) {
      field(job) = read.value;
    }
    return read.complaint;
  };
  key.get = [field, of](const JobSpec& job) { return schedule_text(field(job), of); };
  key.is_fingerprinted_at_default = false;
  return key;
}

/// Appends `NETWORK.schedule.…`: the learning rate's word by word, the others' as maps.
/// @param is_averaged  whether it has a half-life
void add_schedule_keys(std::vector<Key>& keys, const std::string& network, NetworkId id,
                       bool is_averaged);

}  // namespace gangway
