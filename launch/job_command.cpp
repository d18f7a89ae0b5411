// SPDX-License-Identifier: MIT
#include "launch/job_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"

namespace gangway::launch {
namespace {

nlohmann::ordered_json told(const ResolvedJob& job) {
  nlohmann::ordered_json networks = nlohmann::ordered_json::array();
  for (const NetworkSpec& network : job.spec.networks) {
    networks.push_back({{"name", network.name}, {"frozen", network.is_frozen}});
  }
  return {{"name", job.name},
          {"job", to_yaml(job.spec)},
          {"images_per_step", job.spec.images_per_step()},
          {"steps", job.spec.total_steps()},
          {"burn_in_images", job.spec.ends_burn_in() ? job.spec.burn_in_images() : 0.0},
          {"networks", std::move(networks)}};
}

}  // namespace

void add_job_command(CLI::App& app, CommandLine& line) {
  struct Options {
    std::string job;
    std::vector<std::string> overrides;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("job", "Print a job as it is resolved: every key that applies");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_flag("--json", options->json, "JSON: the job, and what follows from it");
  command->footer("Example: gangway job examples/ring8.yaml training.batch=64");
  command->callback([options, &line] {
    line.action = [options, &line] {
      const ResolvedJob job =
          load_job(with_data({.file = options->job,
                              .text = std::nullopt,
                              .overrides = options->overrides,
                              .environment = gangway_variables(line.environment)}));
      std::cout << (options->json ? told(job).dump() + "\n" : to_yaml(job.spec)) << std::flush;
      return 0;
    };
  });
}

}  // namespace gangway::launch
