// SPDX-License-Identifier: MIT
#include "job/blocks/library_spec.hpp"

namespace gangway {

BlockPorts ports_of(const LibrarySpec& spec) { return spec.ports; }

std::vector<ParameterSpec> parameters_of(const LibrarySpec& spec) { return spec.parameters; }

std::vector<StatisticSpec> statistics_of(const LibrarySpec& spec) { return spec.statistics; }

}  // namespace gangway
