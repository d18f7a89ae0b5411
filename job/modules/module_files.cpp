// SPDX-License-Identifier: MIT
#include "job/modules/module_files.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "python/read/python_sources.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPictureKey = "training.style.picture";

/// A file of the user's that a job names.
struct GivenFile {
  std::string key;  // "model.generator"
  HashedFile* place;
  const ModuleFile* python = nullptr;  // `place`, unless it is a style picture
};

/// Returns the files that a job names.
std::vector<GivenFile> files_of(Job& job) {
  std::vector<GivenFile> files;
  const auto add_python = [&files](const std::string& key, ModuleFile& place) {
    files.push_back({.key = key, .place = &place, .python = &place});
  };
  for (NetworkSpec& network : job.networks) {
    add_python("model." + network.name, network.module);
  }
  add_python("training.step", job.training.step);
  add_python("data.source", job.data.module);
  files.push_back({.key = std::string(kPictureKey), .place = &job.training.style.picture});
  std::erase_if(files, [](const GivenFile& one) { return one.place->file.empty(); });
  return files;
}

/// @throws ConfigError if the style picture is in a format that has no decoder. The decoders check
/// the rest (launch/data/).
void require_picture(const GivenFile& given, std::string_view bytes) {
  constexpr std::string_view kPng("\x89PNG\r\n\x1a\n");
  constexpr std::string_view kJpeg("\xff\xd8\xff");
  if (given.key == kPictureKey && !bytes.starts_with(kPng) && !bytes.starts_with(kJpeg)) {
    throw ConfigError(fmt::format("{}: {}: is neither PNG nor JPEG; name a PNG or JPEG file",
                                  given.key, given.place->file));
  }
}

/// Reads the file without a check of its hash.
std::string read_bytes(const GivenFile& given) {
  const std::string& file = given.place->file;
  if (given.python != nullptr) {
    try {
      const PythonSpec spec = given.python->python_spec(given.key, 0);
      return hashed_text(spec, read_python_sources(spec));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", given.key, error.what()));
    }
  }
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    throw ConfigError(fmt::format("{}: {} is a folder; name a PNG or JPEG file", given.key, file));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    throw ConfigError(
        fmt::format("{}: {}: {}; name one that can be read", given.key, file,
                    errno == 0 ? "cannot be read" : std::generic_category().message(errno)));
  }
  return bytes;
}

/// @throws ConfigError if its hash differs from the job's
std::string read_checked(const GivenFile& given) {
  std::string bytes = read_bytes(given);
  const std::string found = given.place->hash.empty() ? "" : hash_of(bytes);
  if (found != given.place->hash) {
    throw ConfigError(
        fmt::format("{}: {} has changed{}: its XXH3-128 is {}, the job's is {}; give the old file "
                    "back, or leave {}_hash out and begin another run (--run)",
                    given.key, given.place->file,
                    given.python == nullptr ? "" : ", or what it imports, or the arguments", found,
                    given.place->hash, given.key));
  }
  return bytes;
}

/// Names the copy by its content, so that a run restarted with another file keeps both.
fs::path kept_file(const fs::path& run, const GivenFile& given) {
  if (given.python != nullptr) {
    return run / kPythonFolder / given.place->hash /
           given.python->python_spec(given.key, 0).name_in_folder();
  }
  return run / kModulesFolder / fmt::format("style-{}.picture", given.place->hash);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw EnvironmentError(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  }
}

/// Copies the job's own file last: if it exists, all do.
void keep_sources(const GivenFile& given, const fs::path& kept) {
  PythonSpec spec = given.python->python_spec(given.key, 0);
  PythonSources sources = read_python_sources(spec);
  const auto named = sources.extract(spec.name_in_folder());
  spec.file = kept.string();
  for (const auto& [path, text] : sources) {
    make_folder((spec.folder() / path).parent_path());
    write_file_atomically(spec.folder() / path, text);
  }
  write_file_atomically(kept, named.mapped());
}

/// Uses the file as typed, or, if it does not exist, beside the job file.
void find_sources(const GivenFile& given, const fs::path& beside) {
  std::string& file = given.place->file;
  if (given.python != nullptr && !is_file(file) && is_file(beside / file)) {
    file = (beside / file).string();
  }
}

}  // namespace

std::string read_style_file(const Job& job) {
  Job copy = job;
  const std::vector<GivenFile> files = files_of(copy);
  const auto style = std::ranges::find(files, kPictureKey, &GivenFile::key);
  if (style == files.end()) {
    throw InvariantError("the job has no style picture");
  }
  return read_checked(*style);
}

void settle_modules(JobSpec& job, const fs::path& beside) {
  for (const GivenFile& given : files_of(job)) {
    HashedFile& place = *given.place;
    find_sources(given, beside);
    if (place.hash.empty()) {
      const std::string bytes = read_bytes(given);
      require_picture(given, bytes);
      place.hash = hash_of(bytes);
      continue;
    }
    if (const fs::path kept = kept_file(beside, given); is_file(kept)) {
      place.file = kept.string();
    }
    (void)read_checked(given);
  }
}

void keep_modules(const JobSpec& job, const fs::path& run) {
  Job copy = job;
  for (const GivenFile& given : files_of(copy)) {
    const fs::path kept = kept_file(run, given);
    if (is_file(kept)) {
      continue;
    }
    make_folder(kept.parent_path());
    const std::string bytes = read_checked(given);
    if (given.python == nullptr) {
      write_file_atomically(kept, bytes);
    } else {
      keep_sources(given, kept);
    }
  }
}

void use_kept_modules(Job& job, const fs::path& run) {
  for (const GivenFile& given : files_of(job)) {
    if (const fs::path kept = kept_file(run, given); is_file(kept)) {
      given.place->file = kept.string();
    }
  }
}

}  // namespace gangway
