// SPDX-License-Identifier: MIT
#include "checkpoint/store/commit.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/format/tensor_list.hpp"
#include "checkpoint/store/owner.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/store/warn.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Renames without replacing an existing name. Returns 0 or the error number.
int rename_to_new(const FileSystem& files, const fs::path& from, const fs::path& to) {
  if (files.rename_to_new(from, to) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    return errno;
  }
  // Some network file systems lack the flag. There is one writer, so a check before is enough.
  struct stat status {};
  if (::lstat(to.c_str(), &status) == 0) {
    return EEXIST;
  }
  return files.rename(from, to) == 0 ? 0 : errno;
}

std::string content_id(const Manifest& manifest) {
  Hasher hasher;
  hasher.update(manifest.job_fingerprint);
  hasher.update(static_cast<std::uint64_t>(manifest.step));
  for (const ManifestFile& file : manifest.files) {
    hasher.update(file.xxh3_128);
  }
  return hasher.hex();
}

void make_folder(const FileSystem& files, const fs::path& folder) {
  if (files.make_folder(folder) != 0) {
    const int error = errno;
    throw EnvironmentError(fmt::format("{}: cannot make the folder: {}{}", folder.string(),
                                       cause_of(error), saving_remedy(error)));
  }
}

/// Makes the folder and its missing parents.
void make_missing_folders(const FileSystem& files, const fs::path& folder) {
  std::error_code ignored;
  if (!folder.empty() && !fs::exists(folder, ignored)) {
    make_missing_folders(files, folder.parent_path());
    if (folder.has_filename()) {  // no trailing slash
      make_folder(files, folder);
    }
  }
}

void write_manifest(const FileSystem& files, const fs::path& directory, const Manifest& manifest) {
  const fs::path unfinished = directory / kUnfinishedManifestName;
  write_new_file(files, unfinished, to_json(manifest));
  if (const int error = rename_to_new(files, unfinished, directory / kManifestName); error != 0) {
    throw EnvironmentError(
        fmt::format("{}: cannot be renamed: {}", unfinished.string(), cause_of(error)));
  }
  sync_directory(files, directory);
}

/// Moves the workers' records into the manifest after checking them against the workers' reports
/// and the files.
void adopt_records(const FileSystem& files, const fs::path& temporary, Manifest& manifest) {
  require_files(temporary, manifest);
  std::vector<WorkerRecord> records;
  for (ManifestFile& file : manifest.files) {
    const fs::path path = temporary / record_name(file.name);
    const std::string text = read_stored_file(path, kMaxManifestBytes);
    if (hash_of(text) != file.xxh3_128) {
      throw CheckpointError(fmt::format("{}: its content hashes to {}, rank {} reported {}",
                                        path.string(), hash_of(text), file.worker + 1,
                                        file.xxh3_128));
    }
    records.push_back(parse_record(text, static_cast<int>(records.size()), path.string()));
    if (records.back().file != file.name || records.back().bytes != file.bytes) {
      throw CheckpointError(fmt::format("{}: is of '{}' of {} bytes, not of '{}' of {}",
                                        path.string(), printable(records.back().file),
                                        records.back().bytes, file.name, file.bytes));
    }
    file.chunk_crc32c = records.back().chunk_crc32c;
  }
  manifest.tensors = join_records(records, temporary.string());
  manifest.tensor_count = static_cast<std::int64_t>(manifest.tensors.size());
  require_covered(
      manifest.tensors,
      [&](int file) { return manifest.files.at(static_cast<std::size_t>(file)).name; },
      temporary.string());
  (void)index_state(temporary, manifest);
  for (const ManifestFile& file : manifest.files) {
    files.remove(temporary / record_name(file.name));
  }
}

enum class Existing { kNone, kKeepIt };

/// Handles an existing final folder: keeps a valid equal one, sets a damaged one aside, throws for
/// another job's.
Existing settle_existing(const FileSystem& files, const fs::path& final_path,
                         const Manifest& manifest, const Warn& warn) {
  struct stat status {};
  if (::lstat(final_path.c_str(), &status) != 0) {
    return Existing::kNone;
  }
  std::string damage;
  std::string other_job;
  try {
    other_job = verify_checkpoint(final_path).job_fingerprint;
  } catch (const CheckpointError& error) {
    damage = error.what();
  }
  if (damage.empty() && other_job == manifest.job_fingerprint) {
    return Existing::kKeepIt;
  }
  if (damage.empty()) {
    throw CheckpointError(fmt::format(
        "{}: exists already, of another job ({}, not {}): start this job as a new run (--run NAME)",
        final_path.string(), other_job, manifest.job_fingerprint));
  }
  const fs::path aside = final_path.parent_path() / damaged_name(manifest.step);
  if (const int error = rename_to_new(files, final_path, aside); error != 0) {
    throw EnvironmentError(fmt::format("{}: damaged, and cannot be set aside: {}",
                                       final_path.string(), cause_of(error)));
  }
  if (warn) {
    warn(fmt::format("{}; set aside as {}, a new one takes its place", damage,
                     aside.filename().string()));
  }
  return Existing::kNone;
}

}  // namespace

fs::path begin_checkpoint(const fs::path& checkpoints_dir, std::int64_t step,
                          const FileSystem& files) {
  const fs::path temporary = checkpoints_dir / temporary_name(step);
  make_missing_folders(files, checkpoints_dir);
  make_folder(files, temporary);
  try {
    write_owner(temporary, this_process(), files);
  } catch (...) {
    discard_temporary(temporary, files);
    throw;
  }
  return temporary;
}

fs::path commit_checkpoint(const fs::path& temporary, Manifest manifest, const Warn& warn,
                           const FileSystem& files) {
  if (parse_temporary_name(last_component(temporary)) != manifest.step) {
    throw InvariantError(
        fmt::format("{}: is not a temporary folder of step {}", temporary.string(), manifest.step));
  }
  adopt_records(files, temporary, manifest);
  if (manifest.checkpoint_id.empty()) {
    manifest.checkpoint_id = content_id(manifest);
  }
  write_manifest(files, temporary, manifest);

  const fs::path parent = fs::absolute(temporary).lexically_normal().parent_path();
  const fs::path final_path = parent / step_name(manifest.step);
  if (settle_existing(files, final_path, manifest, warn) == Existing::kKeepIt) {
    discard_temporary(temporary, files);
    return final_path;
  }
  sync_directory(files,
                 parent.parent_path());  // begin_checkpoint made `parent` without a sync
  if (const int error = rename_to_new(files, temporary, final_path); error != 0) {
    throw EnvironmentError(fmt::format("{}: cannot be renamed to {}: {}", temporary.string(),
                                       final_path.string(), cause_of(error)));
  }
  sync_directory(files, parent);
  // Useful only in a temporary folder; readers ignore it if a crash leaves it here.
  files.remove(final_path / kOwnerName);
  return final_path;
}

bool discard_temporary(const fs::path& temporary, const FileSystem& files) {
  if (!parse_temporary_name(last_component(temporary))) {
    throw InvariantError(
        fmt::format("{}: is not a temporary folder of a checkpoint", temporary.string()));
  }
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary, ignored)) {
    // Remove the owner last, so that a crash here leaves a folder whose owner is known to be dead.
    const std::string name = entry.path().filename().string();
    if (is_own_file_name(name) && name != kOwnerName) {
      files.remove(entry.path());
    }
  }
  files.remove(temporary / kOwnerName);
  return files.remove_folder(temporary) == 0 || errno == ENOENT;
}

}  // namespace gangway::checkpoint
