// SPDX-License-Identifier: MIT
#include "job/modules/feature_file.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/errors.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "evaluation.features";
constexpr const char* kWord = "inception";
/// The network of published FIDs, under its usual file name.
constexpr const char* kInceptionFile = "inception-2015-12-05.pt";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

fs::path inception() {
  const Environment environment = read_environment();
  const auto home = environment.find("HOME");
  for (const fs::path& folder :
       {fs::path("."), fs::path(home == environment.end() ? "." : home->second) / ".cache/gangway",
        fs::path("/tmp")}) {
    if (is_there(folder / kInceptionFile)) {
      return folder / kInceptionFile;
    }
  }
  throw ConfigError(
      fmt::format("{}: {} is not here, in ~/.cache/gangway or in /tmp; fetch it (NVIDIA publishes "
                  "it with StyleGAN3) and put it there, or name its place",
                  kKey, kInceptionFile));
}

}  // namespace

void settle_features(EvaluationSpec& evaluation) {
  std::string& file = evaluation.features;
  if (file.empty()) {
    return;
  }
  const fs::path place = file == kWord ? inception() : fs::path(file);
  if (!is_there(place)) {
    throw ConfigError(
        fmt::format("{}: {}: no such file; name a TorchScript network, or lenet", kKey, file));
  }
  file = fs::absolute(place).lexically_normal().string();
}

}  // namespace gangway
