// SPDX-License-Identifier: MIT
#include "plan/profiles/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
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

json json_of(const Timing& timing) {
  return {{"seconds", timing.seconds}, {"scatter", timing.scatter}};
}

double seconds_in(const json& from) {
  const auto value = from.get<double>();
  if (!std::isfinite(value) || value < 0.0) {
    throw std::invalid_argument(fmt::format("a time of {} s cannot be", value));
  }
  return value;
}

Timing timing_in(const json& from) {
  return {.seconds = seconds_in(from.at("seconds")), .scatter = seconds_in(from.at("scatter"))};
}

template <typename Count>
Count count_in(const json& from, Count least = 0) {
  const auto value = from.get<std::int64_t>();
  if (value < least) {
    throw std::invalid_argument(fmt::format("a count of {} cannot be", value));
  }
  return static_cast<Count>(value);
}

json json_of(const NetworkCost& network) {
  json buckets = json::array();
  for (const BucketSize& bucket : network.buckets) {
    buckets.push_back({{"elements", bucket.elements}, {"first_block", bucket.first_block}});
  }
  return {{"name", network.name},
          {"parameters", network.parameters},
          {"arena_elements", network.arena_elements},
          {"moments", network.moments},
          {"is_averaged", network.is_averaged},
          {"is_frozen", network.is_frozen},
          {"update", json_of(network.update)},
          {"buckets", buckets}};
}

NetworkCost network_in(const json& from) {
  NetworkCost network{.name = from.at("name"),
                      .parameters = count_in<std::int64_t>(from.at("parameters")),
                      .arena_elements = count_in<std::int64_t>(from.at("arena_elements")),
                      .moments = count_in<int>(from.at("moments")),
                      .is_averaged = from.at("is_averaged"),
                      .is_frozen = from.at("is_frozen"),
                      .update = timing_in(from.at("update"))};
  for (const json& bucket : from.at("buckets")) {
    network.buckets.push_back({.elements = count_in<std::int64_t>(bucket.at("elements")),
                               .first_block = count_in<int>(bucket.at("first_block"))});
  }
  if (network.buckets.empty() && !network.is_frozen) {
    throw std::invalid_argument(fmt::format("network {} has no buckets", network.name));
  }
  return network;
}

json json_of(const InstructionCost& cost) {
  return {{"operation", name_of_operation(cost.operation)},
          {"network", cost.network},
          {"phase", cost.phase},
          {"pass", cost.pass},
          {"node", cost.node},
          {"time", json_of(cost.time)}};
}

InstructionCost instruction_in(const json& from) {
  return {.operation = operation_named(from.at("operation")),
          .network = from.at("network"),
          .phase = count_in<int>(from.at("phase")),
          .pass = count_in<int>(from.at("pass")),
          .node = count_in<int>(from.at("node")),
          .time = timing_in(from.at("time"))};
}

json json_of(const BlockCost& cost) {
  return {{"network", cost.network},
          {"block", cost.block},
          {"forward", json_of(cost.forward)},
          {"input_gradient", json_of(cost.input_gradient)},
          {"weight_gradient", json_of(cost.weight_gradient)},
          {"kept_bytes", cost.kept_bytes},
          {"output_bytes", cost.output_bytes},
          {"parameters", cost.parameters}};
}

BlockCost block_in(const json& from) {
  return {.network = from.at("network"),
          .block = count_in<int>(from.at("block")),
          .forward = timing_in(from.at("forward")),
          .input_gradient = timing_in(from.at("input_gradient")),
          .weight_gradient = timing_in(from.at("weight_gradient")),
          .kept_bytes = count_in<std::int64_t>(from.at("kept_bytes")),
          .output_bytes = count_in<std::int64_t>(from.at("output_bytes")),
          .parameters = count_in<std::int64_t>(from.at("parameters"))};
}

json json_of(const OwnPhase& phase) {
  return {{"name", phase.name},
          {"networks", phase.networks},
          {"repeats", phase.repeats},
          {"interval", phase.interval},
          {"takes_reals", phase.takes_reals}};
}

OwnPhase own_phase_in(const json& from) {
  return {.name = from.at("name"),
          .networks = from.at("networks"),
          .repeats = count_in<int>(from.at("repeats"), 1),
          .interval = count_in<int>(from.at("interval"), 1),
          .takes_reals = from.at("takes_reals")};
}

template <typename Cost>
json list_of(const std::vector<Cost>& costs) {
  json list = json::array();
  for (const Cost& cost : costs) {
    list.push_back(json_of(cost));
  }
  return list;
}

Profile profile_in(const json& from) {
  if (const int version = from.at("gangway_profile"); version != kProfileVersion) {
    throw std::invalid_argument(
        fmt::format("it has version {}, this program reads {}", version, kProfileVersion));
  }
  Profile profile{.job = from.at("job"),
                  .costs_hash = from.at("costs_hash"),
                  .model_hash = from.at("model_hash"),
                  .date = from.at("date"),
                  .host = from.at("host"),
                  .processor = from.at("processor"),
                  .libtorch = from.at("libtorch"),
                  .cores = count_in<int>(from.at("cores"), 1),
                  .devices = from.contains("devices") ? count_in<int>(from.at("devices")) : 0,
                  .memory_bytes = count_in<std::int64_t>(from.at("memory_bytes")),
                  .images_per_microbatch =
                      count_in<std::int64_t>(from.at("images_per_microbatch"), std::int64_t{1}),
                  .threads = count_in<int>(from.at("threads"), 1)};
  for (const json& one : from.at("networks")) {
    profile.networks.push_back(network_in(one));
  }
  for (const json& one : from.at("instructions")) {
    profile.instructions.push_back(instruction_in(one));
  }
  for (const json& one : from.at("blocks")) {
    profile.blocks.push_back(block_in(one));
  }
  profile.together.clear();
  for (const json& one : from.at("together")) {
    profile.together.push_back(seconds_in(one));
  }
  if (profile.together.empty()) {
    throw std::invalid_argument("its 'together' is empty");
  }
  profile.step = timing_in(from.at("step"));
  profile.step_microbatches = count_in<int>(from.at("step_microbatches"), 1);
  profile.data_seconds_per_image = seconds_in(from.at("data_seconds_per_image"));
  profile.add_seconds_per_byte = seconds_in(from.at("add_seconds_per_byte"));
  profile.wake_seconds = seconds_in(from.at("wake_seconds"));
  const json& memory = from.at("memory");
  profile.memory = {.process_bytes = count_in<std::int64_t>(memory.at("process_bytes")),
                    .working_bytes = count_in<std::int64_t>(memory.at("working_bytes")),
                    .other_bytes = count_in<std::int64_t>(memory.at("other_bytes"))};
  if (from.contains("links")) {
    profile.links = comm::parse_link_table(from.at("links").dump());
  }
  for (const json& one : from.value("own_phases", json::array())) {
    profile.own_phases.push_back(own_phase_in(one));
  }
  return profile;
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
  json out = {{"gangway_profile", kProfileVersion},
              {"job", profile.job},
              {"costs_hash", profile.costs_hash},
              {"model_hash", profile.model_hash},
              {"date", profile.date},
              {"host", profile.host},
              {"processor", profile.processor},
              {"libtorch", profile.libtorch},
              {"cores", profile.cores},
              {"memory_bytes", profile.memory_bytes},
              {"images_per_microbatch", profile.images_per_microbatch},
              {"threads", profile.threads},
              {"networks", list_of(profile.networks)},
              {"instructions", list_of(profile.instructions)},
              {"blocks", list_of(profile.blocks)},
              {"together", profile.together},
              {"step", json_of(profile.step)},
              {"step_microbatches", profile.step_microbatches},
              {"data_seconds_per_image", profile.data_seconds_per_image},
              {"add_seconds_per_byte", profile.add_seconds_per_byte},
              {"wake_seconds", profile.wake_seconds},
              {"memory",
               {{"process_bytes", profile.memory.process_bytes},
                {"working_bytes", profile.memory.working_bytes},
                {"other_bytes", profile.memory.other_bytes}}}};
  if (profile.devices > 0) {
    out["devices"] = profile.devices;
  }
  if (profile.links) {
    out["links"] = json::parse(comm::to_json(*profile.links));
  }
  if (!profile.own_phases.empty()) {
    out["own_phases"] = list_of(profile.own_phases);
  }
  return out.dump(2) + "\n";
}

Profile parse_profile(std::string_view text, const std::string& name) {
  try {
    return profile_in(json::parse(text));
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
