// SPDX-License-Identifier: MIT
// Which data set a job names.
#pragma once

#include <cstdint>
#include <memory>

#include "gan/data/contents/file_contents.hpp"
#include "gan/data/dataset.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// Opens `spec.source`, resized or padded to what the model wants (model.resolution,
/// model.channels).
/// @param check  of the contents of files that are read during training; null: none
/// @throws ConfigError: one line that names the file, what is wrong and what to do.
[[nodiscard]] std::unique_ptr<Dataset> open_dataset(const DataSpec& spec, const ModelSpec& model,
                                                    std::uint64_t seed,
                                                    ContentsCheck* check = nullptr);

/// Examples that are the user's Python (docs/python.md). @pre spec.module.is_python()
/// @throws ConfigError, EnvironmentError
[[nodiscard]] std::unique_ptr<Dataset> open_python_data(const DataSpec& spec,
                                                        const ModelSpec& model, std::uint64_t seed,
                                                        const ContentsCheck* check);

}  // namespace gangway::data
