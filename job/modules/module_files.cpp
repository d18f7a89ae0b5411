// SPDX-License-Identifier: MIT
#include "job/modules/module_files.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

ScriptSpec script_of(const NetworkSpec& network) {
  return {.key = "model." + network.name,
          .file = network.module.file,
          .hash = network.module.hash,
          .inputs = {},
          .output = {},
          .num_parameters = {}};
}

std::string hash_of(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// Whatever its hash is.
std::string read_bytes(const std::string& key, const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    throw ConfigError(fmt::format("{}: {} is a folder; name a TorchScript file", key, file));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    throw ConfigError(fmt::format(
        "{}: {}: {}; torch.jit.script(network).save(FILE) writes one (docs/bring-your-own.md)", key,
        file, errno == 0 ? "cannot be read" : std::generic_category().message(errno)));
  }
  return bytes;
}

/// Named by its content, so that a run that is begun anew with another file keeps both.
fs::path kept_module(const fs::path& run, const NetworkSpec& network) {
  return run / kModulesFolder / fmt::format("{}-{}.pt", network.name, network.module.hash);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::string read_module(const ScriptSpec& spec) {
  std::string bytes = read_bytes(spec.key, spec.file);
  const std::string found = spec.hash.empty() ? "" : hash_of(bytes);
  if (found != spec.hash) {
    throw ConfigError(
        fmt::format("{}: {} has changed: its XXH3-128 is {}, the job's is {}; give the old file "
                    "back, or leave {}_hash out and begin another run (--run)",
                    spec.key, spec.file, found, spec.hash, spec.key));
  }
  return bytes;
}

void settle_modules(JobSpec& job, const fs::path& beside) {
  for (NetworkSpec& network : job.networks) {
    ModuleFile& module = network.module;
    if (module.file.empty()) {
      continue;
    }
    if (module.hash.empty()) {
      module.hash = hash_of(read_bytes(script_of(network).key, module.file));
      continue;
    }
    if (const fs::path kept = kept_module(beside, network); is_file(kept)) {
      module.file = kept.string();
    }
    (void)read_module(script_of(network));
  }
}

void keep_modules(const JobSpec& job, const fs::path& run) {
  for (const NetworkSpec& network : job.networks) {
    const fs::path kept = kept_module(run, network);
    if (network.module.file.empty() || is_file(kept)) {
      continue;
    }
    std::error_code error;
    fs::create_directories(kept.parent_path(), error);
    if (error) {
      throw EnvironmentError(
          fmt::format("{}: cannot be made: {}", kept.parent_path().string(), error.message()));
    }
    write_file_atomically(kept, read_module(script_of(network)));
  }
}

void use_kept_modules(JobSpec& job, const fs::path& run) {
  for (NetworkSpec& network : job.networks) {
    if (const fs::path kept = kept_module(run, network);
        !network.module.file.empty() && is_file(kept)) {
      network.module.file = kept.string();
    }
  }
}

}  // namespace gangway
