// SPDX-License-Identifier: MIT
#include "plan/profiles/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <fstream>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "job/file/fingerprint.hpp"

namespace gangway::plan {
namespace {

using nlohmann::json;
using pipeline::Operation;

constexpr int kProfileVersion = 1;

constexpr std::array<std::pair<Operation, const char*>, 8> kOperationNames{
    {{Operation::kOpenLeaf, "open leaf"},
     {Operation::kForward, "forward"},
     {Operation::kBackward, "backward"},
     {Operation::kPenaltyForward, "penalty forward"},
     {Operation::kPenaltyBackward, "penalty backward"},
     {Operation::kCloseLeaf, "close leaf"},
     {Operation::kArm, "arm"},
     {Operation::kReduce, "reduce"}}};

const char* name_of_operation(Operation operation) {
  return std::ranges::find(kOperationNames, operation, &std::pair<Operation, const char*>::first)
      ->second;
}

Operation operation_named(const std::string& name) {
  const auto found = std::ranges::find_if(kOperationNames,
                                          [&](const auto& known) { return known.second == name; });
  if (found == kOperationNames.end()) {
    throw std::invalid_argument(fmt::format("there is no operation '{}'", name));
  }
  return found->first;
}

/// How the file holds a member.
struct Rule {
  int least = 0;             ///< of a count
  bool is_optional = false;  ///< the file omits the default
};

template <typename Type, typename Struct>
concept Is = std::same_as<std::remove_const_t<Type>, Struct>;

// Each for_each calls `it(name, member, rule)` for the members in the order of reading.

void for_each(Is<Timing> auto& timing, const auto& it) {
  it("seconds", timing.seconds);
  it("scatter", timing.scatter);
}

void for_each(Is<BucketSize> auto& bucket, const auto& it) {
  it("elements", bucket.elements);
  it("first_block", bucket.first_block);
}

void for_each(Is<NetworkCost> auto& network, const auto& it) {
  it("name", network.name);
  it("parameters", network.parameters);
  it("arena_elements", network.arena_elements);
  it("moments", network.moments);
  it("is_averaged", network.is_averaged);
  it("is_frozen", network.is_frozen);
  it("update", network.update);
  it("buckets", network.buckets);
}

void for_each(Is<InstructionCost> auto& cost, const auto& it) {
  it("operation", cost.operation);
  it("network", cost.network);
  it("phase", cost.phase);
  it("pass", cost.pass);
  it("node", cost.node);
  it("time", cost.time);
}

void for_each(Is<BlockCost> auto& cost, const auto& it) {
  it("network", cost.network);
  it("block", cost.block);
  it("forward", cost.forward);
  it("input_gradient", cost.input_gradient);
  it("weight_gradient", cost.weight_gradient);
  it("kept_bytes", cost.kept_bytes);
  it("output_bytes", cost.output_bytes);
  it("parameters", cost.parameters);
}

void for_each(Is<MemoryCost> auto& memory, const auto& it) {
  it("process_bytes", memory.process_bytes);
  it("working_bytes", memory.working_bytes);
  it("other_bytes", memory.other_bytes);
}

void for_each(Is<OwnPhase> auto& phase, const auto& it) {
  it("name", phase.name);
  it("networks", phase.networks);
  it("repeats", phase.repeats, {.least = 1});
  it("interval", phase.interval, {.least = 1});
  it("takes_reals", phase.takes_reals);
}

void for_each(Is<Profile> auto& profile, const auto& it) {
  it("job", profile.job);
  it("costs_hash", profile.costs_hash);
  it("model_hash", profile.model_hash);
  it("date", profile.date);
  it("host", profile.host);
  it("processor", profile.processor);
  it("libtorch", profile.libtorch);
  it("cores", profile.cores, {.least = 1});
  it("devices", profile.devices, {.is_optional = true});
  it("memory_bytes", profile.memory_bytes);
  it("images_per_microbatch", profile.images_per_microbatch, {.least = 1});
  it("threads", profile.threads, {.least = 1});
  it("networks", profile.networks);
  it("instructions", profile.instructions);
  it("blocks", profile.blocks);
  it("together", profile.together);
  it("step", profile.step);
  it("step_microbatches", profile.step_microbatches, {.least = 1});
  it("data_seconds_per_image", profile.data_seconds_per_image);
  it("add_seconds_per_byte", profile.add_seconds_per_byte);
  it("wake_seconds", profile.wake_seconds);
  it("memory", profile.memory);
  it("links", profile.links, {.is_optional = true});
  it("own_phases", profile.own_phases, {.is_optional = true});
}

/// Whether the JSON library itself writes and reads the type.
template <typename Value>
constexpr bool kIsPlain = std::is_arithmetic_v<Value> || std::same_as<Value, std::string> ||
                          std::same_as<Value, std::vector<std::string>>;

template <typename Value>
json json_of(const Value& value) {
  json out;
  if constexpr (kIsPlain<Value>) {
    out = value;
  } else if constexpr (std::same_as<Value, Operation>) {
    out = name_of_operation(value);
  } else if constexpr (std::same_as<Value, std::optional<comm::LinkTable>>) {
    out = json::parse(comm::to_json(*value));
  } else if constexpr (std::ranges::range<Value>) {
    out = json::array();
    for (const auto& one : value) {
      out.push_back(json_of(one));
    }
  } else {
    for_each(value, [&out](const char* name, const auto& member, Rule rule = {}) {
      if (!rule.is_optional || member != std::decay_t<decltype(member)>{}) {
        out[name] = json_of(member);
      }
    });
  }
  return out;
}

void require_sound(const auto& /*value*/) {}

void require_sound(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0) {
    throw std::invalid_argument(fmt::format("a time of {} s cannot be", seconds));
  }
}

void require_sound(const NetworkCost& network) {
  if (network.buckets.empty() && !network.is_frozen) {
    throw std::invalid_argument(fmt::format("network {} has no buckets", network.name));
  }
}

void require_sound(const std::vector<double>& together) {
  if (together.empty()) {
    throw std::invalid_argument("its 'together' is empty");
  }
}

/// @throws std::exception for a value that is missing, of another type, or impossible
template <typename Value>
void read(const json& from, Value& value, int least = 0) {
  if constexpr (std::signed_integral<Value>) {
    const auto count = from.get<std::int64_t>();
    if (count < least) {
      throw std::invalid_argument(fmt::format("a count of {} cannot be", count));
    }
    value = static_cast<Value>(count);
  } else if constexpr (kIsPlain<Value>) {
    from.get_to(value);
  } else if constexpr (std::same_as<Value, Operation>) {
    value = operation_named(from);
  } else if constexpr (std::same_as<Value, std::optional<comm::LinkTable>>) {
    value = comm::parse_link_table(from.dump());
  } else if constexpr (std::ranges::range<Value>) {
    value.clear();
    for (const json& one : from) {
      read(one, value.emplace_back());
    }
  } else {
    for_each(value, [&from](const char* name, auto& member, Rule rule = {}) {
      if (!rule.is_optional || from.contains(name)) {
        read(from.at(name), member, rule.least);
      }
    });
  }
  require_sound(value);
}

}  // namespace

Timing timing_of(std::vector<double> samples) {
  if (samples.empty()) {
    return {};
  }
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    const double part = place - static_cast<double>(below);
    return samples[below] * (1.0 - part) + samples[above] * part;
  };
  return {.seconds = at(0.5), .scatter = (at(0.75) - at(0.25)) / 2.0};
}

const NetworkCost& Profile::network(const std::string& name) const {
  const auto found = std::ranges::find(networks, name, &NetworkCost::name);
  if (found == networks.end()) {
    throw ConfigError(fmt::format("the profile has no network '{}': measure the job again", name));
  }
  return *found;
}

Timing Profile::cost_of(const pipeline::Instruction& instruction,
                        const PerNetwork<std::string>& names) const {
  const std::string& network_name = names[instruction.network];
  const auto found = std::ranges::find_if(instructions, [&](const InstructionCost& cost) {
    return cost.operation == instruction.operation && cost.phase == instruction.phase &&
           cost.pass == instruction.pass && cost.node == instruction.node &&
           cost.network == network_name;
  });
  return found == instructions.end() ? Timing{} : found->time;
}

std::vector<double> ready_shares(const Profile& profile, const NetworkCost& network) {
  std::vector<double> of_block;
  double all = 0.0;
  for (const BlockCost& block : profile.blocks) {
    if (block.network == network.name) {
      of_block.resize(static_cast<std::size_t>(block.block) + 1, 0.0);
      of_block.back() = block.input_gradient.seconds + block.weight_gradient.seconds;
      all += of_block.back();
    }
  }
  std::vector<double> shares;
  for (const BucketSize& bucket : network.buckets) {
    double done = all > 0.0 ? 0.0 : 1.0;
    for (auto block = static_cast<std::size_t>(bucket.first_block); block < of_block.size();
         ++block) {
      done += all > 0.0 ? of_block[block] / all : 0.0;
    }
    shares.push_back(std::min(1.0, done));
  }
  return shares;
}

std::string costs_fingerprint(const JobSpec& job) {
  JobSpec plain = job;
  plain.training.batch = static_cast<int>(job.images_per_microbatch());
  plain.training.microbatches = 1;
  plain.training.seed = 0;
  plain.training.kimg = 1.0;
  for (NetworkSpec& network : plain.networks) {
    network.optimizer.lr = 1.0;
    network.schedule = {};
  }
  return job_fingerprint(plain);
}

std::string to_json(const Profile& profile) {
  json out = json_of(profile);
  out["gangway_profile"] = kProfileVersion;
  return out.dump(2) + "\n";
}

Profile parse_profile(std::string_view text, const std::string& name) {
  try {
    const json from = json::parse(text);
    if (const int version = from.at("gangway_profile"); version != kProfileVersion) {
      throw std::invalid_argument(
          fmt::format("it has version {}, this program reads {}", version, kProfileVersion));
    }
    Profile profile;
    read(from, profile);
    return profile;
  } catch (const std::exception& error) {  // errors of the JSON library, and impossible values
    throw ConfigError(
        fmt::format("{}: not a profile ({}); make one with `gangway profile JOB.yaml -o {}`", name,
                    error.what(), name));
  }
}

Profile read_profile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw ConfigError(fmt::format(
        "{}: no profile there; make one with `gangway profile JOB.yaml -o {}`, or name it with "
        "--profile",
        file.string(), file.string()));
  }
  return parse_profile(text.str(), file.string());
}

void require_fitting(const Profile& profile, const std::string& file, const JobSpec& job) {
  if (profile.images_per_microbatch != job.images_per_microbatch()) {
    throw ConfigError(fmt::format(
        "{}: measured with micro-batches of {} images, the job's have {}; measure it with "
        "`gangway profile` and the same keys",
        file, profile.images_per_microbatch, job.images_per_microbatch()));
  }
  if (profile.costs_hash != costs_fingerprint(job) ||
      !std::ranges::equal(profile.networks, job.networks, {}, &NetworkCost::name,
                          &NetworkSpec::name)) {
    throw ConfigError(fmt::format(
        "{}: measured of another job ({}), whose {}; measure this one with `gangway "
        "profile` and the same keys",
        file, profile.job,
        profile.model_hash == model_fingerprint(job) ? "model is the same but not what a step does"
                                                     : "model is another"));
  }
}

std::filesystem::path default_profile_file(const std::filesystem::path& job_file) {
  return fmt::format("{}.profile.json", job_file.stem().string());
}

std::optional<std::filesystem::path> find_profile(const std::filesystem::path& job_file) {
  const std::filesystem::path name = default_profile_file(job_file);
  for (const std::filesystem::path& file : {job_file.parent_path() / name, name}) {
    if (std::filesystem::exists(file)) {
      return file;
    }
  }
  return std::nullopt;
}

}  // namespace gangway::plan
