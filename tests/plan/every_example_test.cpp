// SPDX-License-Identifier: MIT
// Plans every example on every cluster file of examples/. The plan's command must be a valid job.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/estimate/dry_run.hpp"
#include "job/file/parse.hpp"
#include "plan/ranking/plan_text.hpp"
#include "plan/ranking/search.hpp"
#include "tests/plan/sample_plan.hpp"

namespace gangway::plan {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

/// Costs of a nanosecond per parameter, forward and backward.
NetworkCost network_cost(const NetworkSpec& network, const Architecture& architecture) {
  const std::int64_t parameters = num_parameters(architecture);
  return {.name = network.name,
          .parameters = parameters,
          .arena_elements = parameters,
          .moments = 2,
          .is_averaged = network.is_averaged(),
          .is_frozen = network.is_frozen,
          .update = {.seconds = 1e-9 * static_cast<double>(parameters)},
          .buckets = {{.elements = parameters, .first_block = 0}}};
}

BlockCost block_cost(const std::string& network, const Architecture& architecture, int number) {
  const Architecture one{.name = network,
                         .blocks = {architecture.blocks[static_cast<std::size_t>(number)]}};
  const std::int64_t parameters = num_parameters(one);
  const Timing time{.seconds = 1e-5 + 1e-9 * static_cast<double>(parameters)};
  return {.network = network,
          .block = number,
          .forward = time,
          .input_gradient = time,
          .weight_gradient = time,
          .kept_bytes = 100'000,
          .output_bytes = 50'000,
          .parameters = parameters};
}

Profile profile_of(const JobSpec& job) {
  Profile profile = bare_profile(job, [](pipeline::Operation operation) {
    const bool computes =
        operation == pipeline::Operation::kForward || operation == pipeline::Operation::kBackward;
    return computes ? 1e-3 : 0.0;
  });
  profile.cores = 8;
  profile.memory_bytes = std::int64_t{16} << 30;
  const PerNetwork<Architecture> networks = job.architectures();
  for (const NetworkId id : networks.ids()) {
    const std::string& name = job.networks[id].name;
    profile.networks.push_back(network_cost(job.networks[id], networks[id]));
    for (int block = 0; block < static_cast<int>(networks[id].blocks.size()); ++block) {
      profile.blocks.push_back(block_cost(name, networks[id], block));
    }
  }
  profile.step = {.seconds = 0.02};
  profile.memory = {
      .process_bytes = 300'000'000, .working_bytes = 50'000'000, .other_bytes = 1'000'000};
  return profile;
}

struct Example {
  std::string text;  ///< job file and overrides
  JobSources sources;
};

/// Returns each example as it is, and with the micro-batches that more workers need.
std::vector<Example> examples() {
  std::vector<Example> all;
  for (const fs::path& file : files_in("examples")) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"training.batch=64", "training.microbatches=8"}}) {
      JobSources sources{.file = file, .text = std::nullopt, .overrides = more, .environment = {}};
      all.push_back({file.string() + (more.empty() ? "" : " in 8 micro-batches"), sources});
    }
  }
  return all;
}

/// Splits a line as a shell does.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (const char character : line) {
    if (character == '\'') {
      is_quoted = !is_quoted;
    } else if (character == ' ' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  return words;
}

/// Returns the command after the "Run it: " of the plan's last line.
std::vector<std::string> command_in(const std::string& text) {
  const std::string begin = "Run it: ";
  const std::size_t at = text.find(begin);
  return at == std::string::npos
             ? std::vector<std::string>{}
             : shell_words(text.substr(at + begin.size(), text.find('\n', at) - at - begin.size()));
}

/// Checks that a dry run accepts the job, and that its layout is the plan's.
void expect_job(const JobSources& sources, const Candidate& candidate) {
  JobSpec job;
  ASSERT_NO_THROW(job = load_job(sources).spec) << ::testing::PrintToString(sources.overrides);
  EXPECT_EQ(job.layout, candidate.choice) << ::testing::PrintToString(sources.overrides);
  EXPECT_NO_THROW(require_workers(job, candidate.workers));
  EXPECT_NO_THROW((void)describe_dry_run(job, candidate.workers));
}

void expect_rows_are_jobs(const Search& search, const PlanInput& input, JobSources sources) {
  const std::vector<std::string> typed = sources.overrides;
  for (const Prediction& one : search.ranking) {
    const Candidate candidate = runnable(one.candidate, input.job, input.cluster);
    sources.overrides = typed;
    for (std::string& key : layout_keys(candidate, input.job)) {
      sources.overrides.push_back(std::move(key));
    }
    expect_job(sources, candidate);
  }
}

void expect_command_is_a_job(const Search& search, const PlanInput& input, JobSources sources) {
  const Prediction& first = search.ranking.front();
  const std::vector<std::string> command = command_in(
      plan_text(search, input, {.file = sources.file.string(), .overrides = sources.overrides}));
  if (!first.fits) {
    EXPECT_THAT(command, ::testing::IsEmpty());
    return;
  }
  ASSERT_GE(command.size(), 5U);
  EXPECT_EQ(command[2], sources.file.string());
  EXPECT_EQ(command[4], std::to_string(first.candidate.workers));
  const std::vector<HostSlots> hosts = hosts_of(first.candidate, input.cluster);
  const bool names_hosts = command.size() > 5 && command[5] == "--hostfile";
  EXPECT_EQ(names_hosts, hosts.size() > 1);
  sources.overrides.assign(command.begin() + (names_hosts ? 7 : 5), command.end());
  const Candidate candidate = runnable(first.candidate, input.job, input.cluster);
  EXPECT_TRUE(hosts.size() == 1 || candidate.choice.transport != TransportKind::kShm);
  expect_job(sources, candidate);
}

TEST(EveryExample, RunsAgainFromTheKeysThatADryRunPrints) {
  for (const Example& example : examples()) {
    const JobSpec job = load_job(example.sources).spec;
    const std::string yaml = chosen_yaml(job);
    EXPECT_EQ(parse_job(yaml, example.sources.file.string()), job) << example.text << "\n" << yaml;
  }
}

TEST(EveryExample, IsPlannedOnEveryClusterAndWhatItSaysToRunIsAJob) {
  const std::vector<fs::path> clusters = files_in("examples/clusters");
  ASSERT_GE(clusters.size(), 3U);
  for (const Example& example : examples()) {
    const JobSpec job = load_job(example.sources).spec;
    for (const fs::path& cluster : clusters) {
      SCOPED_TRACE(example.text + " on " + cluster.string());
      ASSERT_NO_THROW({
        const Planner planner(job, profile_of(job), "sample.json",
                              read_cluster(cluster, GANGWAY_DEVICES));
        const Search search = search_layouts(planner.input(), {.rows = 10, .shapes = Shapes::kAll});
        ASSERT_FALSE(search.ranking.empty());
        expect_rows_are_jobs(search, planner.input(), example.sources);
        expect_command_is_a_job(search, planner.input(), example.sources);
      });
    }
  }
}

}  // namespace
}  // namespace gangway::plan
