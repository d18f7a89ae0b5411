// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "launch/model/commands.hpp"
#include "launch/model/script/script_module.hpp"
#include "python/open/python_library.hpp"

namespace gangway::launch {

void export_script(const ExportOptions& options) {
  TrainedRun trained =
      load_network(options.checkpoint, {.network = options.network, .weights = options.weights});
  const char* const weights = trained.weights == WeightVersion::kAverage ? "average" : "last";
  if (trained.job.networks[trained.job.chosen(options.network)].module.is_python()) {
    python::save_python(trained.network, options.file);
    fmt::print("{}: {} weights of the {} at step {}\n", options.file.string(), weights,
               options.network, trained.step);
    return;
  }
  save_script(script_of(trained.network, trained.job.model), options.file,
              {{"gangway.network", options.network},
               {"gangway.weights", weights},
               {"gangway.step", std::to_string(trained.step)},
               {"gangway.images", std::to_string(trained.images)},
               {"gangway.job.yaml", trained.job_yaml}});
  fmt::print("{}: TorchScript, {} weights of the {} at step {}\n", options.file.string(), weights,
             options.network, trained.step);
}

}  // namespace gangway::launch
