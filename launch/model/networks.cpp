// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <torch/version.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/file/parse.hpp"
#include "launch/model/commands.hpp"
#include "python/open/python_library.hpp"

namespace gangway::launch {

void describe_networks(const NetworksOptions& options) {
  JobSpec job = load_job({.file = options.job_file}).spec;
  python::open_python(job, job.layout, {}, /*keeps_bytecode=*/true);
  (void)gan::phases_of(job, TORCH_VERSION);  // also checks a library's recipe
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  PerNetwork<gan::Network*> pointers;
  for (gan::Network& network : networks) {
    pointers.add(&network);
  }
  if (job.training.step.is_python()) {
    (void)python::make_python_step(job, pointers);  // checks its arguments
  }
  for (gan::Network& network : networks) {
    std::int64_t count = 0;
    for (const gan::Network::NamedParameter& named : network.parameters()) {
      count += named.parameter->tensor.numel();
    }
    fmt::print("network {} {}\n", network.name(), count);
  }
}

void export_python(const ExportOptions& options) {
  TrainedRun trained =
      load_network(options.checkpoint, {.network = options.network, .weights = options.weights});
  python::save_python(trained.network, options.file);
  fmt::print("{}: {} weights of the {} at step {}\n", options.file.string(),
             trained.weights == WeightVersion::kAverage ? "average" : "last", options.network,
             trained.step);
}

}  // namespace gangway::launch
