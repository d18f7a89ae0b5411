// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/environment.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/positive_number.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {

constexpr const char* kFooter =
    "Examples:\n"
    "  gangway plan examples/fashion-mnist.yaml\n"
    "  gangway plan job.yaml --cluster examples/clusters/eight-by-eight.yaml\n"
    "  gangway plan job.yaml --cluster cluster.yaml --what-if slow:node-3/0=1.5\n"
    "docs/planning.md says how costs are predicted, and how accurately.";

void add_plan_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<plan::PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Rank layouts of a job for a cluster by what they would cost, without running one");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--profile", options->profile,
                      "What `gangway profile` has written; default: JOB.profile.json here");
  command->add_option("--cluster", options->cluster,
                      "Nodes, devices and links (examples/clusters/); default: the machine of the "
                      "profile, or the hosts whose links it has");
  command
      ->add_option("--links", options->links,
                   "File with measured links: a run's folder or its calibration.json, or a profile "
                   "made with --hostfile")
      ->type_name("RUN|PROFILE");
  command
      ->add_option(
          "--what-if", options->what_ifs,
          "slow:NODE/DEVICE=1.5, lost:NODE, link:A-B=0.1x or link:between=0.1x; may be repeated")
      ->allow_extra_args(false);
  command->add_option("-n,--workers", options->workers, "Only layouts of this many workers")
      ->check(kPositiveNumber);
  command->add_option("--rows", options->rows, "Number of layouts to show")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command
      ->add_option(
          "--schedule", options->schedule,
          "Write the first layout's lists of instructions, one file per rank; -: print them")
      ->type_name("FOLDER");
  command->add_flag("--whole", options->whole,
                    "Only layouts in which every worker has all networks, with none of them cut");
  command
      ->add_flag("--as-is", options->as_is,
                 "Only the layout that the job names, on the host of the profile as if it had a "
                 "device for each worker")
      ->needs("--workers")
      ->excludes("--cluster")
      ->excludes("--links")
      ->excludes("--what-if");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->footer(kFooter);
  command->callback([options, &line] {
    line.action = [options, &line] {
      const ResolvedJob job = load_followed({.file = options->job,
                                             .overrides = options->overrides,
                                             .environment = gangway_variables(line.environment)});
      std::ranges::copy(job.filled_in, std::back_inserter(options->overrides));
      options->devices = share_folder() / "devices";
      options->program = line.typed.front();
      return plan::make_plan(*options, line.environment);
    };
  });
}

}  // namespace gangway::launch
