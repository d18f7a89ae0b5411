// SPDX-License-Identifier: MIT
// Opens the data set that a job names.
#pragma once

#include <cstdint>
#include <memory>

#include "data/contents/file_contents.hpp"
#include "data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// Opens `spec.source`; resizes or pads it to the model's resolution and channels.
/// @param check  compares contents of files read during training; null: no comparison
/// @throws ConfigError: one line naming the file, the problem and the remedy
[[nodiscard]] std::unique_ptr<Dataset> open_dataset(const DataSpec& spec, const ModelSpec& model,
                                                    std::uint64_t seed,
                                                    ContentsCheck* check = nullptr);

/// Opens examples of the user's Python (docs/python.md). @pre spec.module.is_python()
/// @throws ConfigError, EnvironmentError
[[nodiscard]] std::unique_ptr<Dataset> open_python_data(const DataSpec& spec,
                                                        const ModelSpec& model, std::uint64_t seed,
                                                        const ContentsCheck* check);

}  // namespace gangway::data
