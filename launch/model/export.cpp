// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "launch/model/commands.hpp"
#include "python/open/python_library.hpp"

namespace gangway::launch {

void export_python(const ExportOptions& options) {
  TrainedRun trained =
      load_network(options.checkpoint, {.network = options.network, .weights = options.weights});
  python::save_python(trained.network, options.file);
  fmt::print("{}: {} weights of the {} at step {}\n", options.file.string(),
             trained.weights == WeightVersion::kAverage ? "average" : "last", options.network,
             trained.step);
}

}  // namespace gangway::launch
