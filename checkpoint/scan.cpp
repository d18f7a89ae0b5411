// SPDX-License-Identifier: MIT
// The reading half of checkpoint/directory.hpp.
#include <algorithm>
#include <cerrno>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "checkpoint/directory.hpp"
#include "checkpoint/durable_file.hpp"
#include "checkpoint/hash.hpp"
#include "checkpoint/names.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

void require_real_directory(const fs::path& path) {
  struct stat status {};
  // A trailing slash would make lstat follow the link.
  const fs::path bare = path.has_filename() ? path : path.parent_path();
  if (::lstat(bare.c_str(), &status) != 0) {
    throw CheckpointError(fmt::format("{}: cannot be read: {}", path.string(), cause_of(errno)));
  }
  if (S_ISLNK(status.st_mode)) {
    throw CheckpointError(fmt::format(
        "{}: is a symbolic link, which is refused: name the folder itself", path.string()));
  }
  if (!S_ISDIR(status.st_mode)) {
    throw CheckpointError(fmt::format("{}: is not a folder", path.string()));
  }
}

/// The manifest of a folder, whose name, where it is one of ours, must agree.
Manifest read_manifest(const fs::path& checkpoint) {
  require_real_directory(checkpoint);
  const fs::path path = checkpoint / kManifestName;
  Manifest manifest = parse_manifest(read_small_file(path, kMaxManifestBytes), path.string());
  const std::optional<std::int64_t> named = parse_step_name(last_component(checkpoint));
  if (named && *named != manifest.step) {
    throw CheckpointError(fmt::format("{}: its manifest is of step {}: the folder was renamed",
                                      checkpoint.string(), manifest.step));
  }
  return manifest;
}

void require_size(const fs::path& path, const ManifestFile& file) {
  const std::uint64_t bytes = open_regular_file(path).bytes;
  if (bytes != file.bytes) {
    throw CheckpointError(fmt::format("{}: has {} bytes, the manifest says {}: {}", path.string(),
                                      bytes, file.bytes,
                                      bytes < file.bytes ? "truncated" : "damaged"));
  }
}

void require_identity(const SafetensorsFile& file, const Manifest& manifest, int worker) {
  const std::map<std::string, std::string> expected{
      {"gangway.step", fmt::format("{}", manifest.step)},
      {"gangway.epoch", fmt::format("{}", manifest.epoch)},
      {"gangway.worker", fmt::format("{}", worker)},
      {"gangway.workers", fmt::format("{}", manifest.files.size())}};
  for (const auto& [key, value] : expected) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second != value) {
      throw CheckpointError(fmt::format(
          "{}: says {} = {}, the manifest {}: a file of another checkpoint", file.path().string(),
          key, found == file.metadata().end() ? "nothing" : found->second.substr(0, 20), value));
    }
  }
}

/// A worker file that the manifest does not know would mean that files of two checkpoints were
/// mixed.
void require_no_extra_files(const fs::path& checkpoint, const Manifest& manifest) {
  std::set<std::string_view> known;
  for (const ManifestFile& file : manifest.files) {
    known.insert(file.name);
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint, error)) {
    const std::string name = entry.path().filename().string();
    if (is_worker_file_name(name) && !known.contains(name)) {
      throw CheckpointError(fmt::format("{}: is not in the manifest: a file of another checkpoint",
                                        entry.path().string()));
    }
  }
  if (error) {
    throw CheckpointError(
        fmt::format("{}: cannot be listed: {}", checkpoint.string(), error.message()));
  }
}

std::vector<SafetensorsFile> open_files(const fs::path& directory, const Manifest& manifest) {
  std::vector<SafetensorsFile> files;
  files.reserve(manifest.files.size());
  for (const ManifestFile& listed : manifest.files) {
    const int worker = static_cast<int>(files.size());
    if (listed.name != worker_file_name(worker, static_cast<int>(manifest.files.size()))) {
      throw CheckpointError(fmt::format("{}: file {} of the manifest is '{}'", directory.string(),
                                        worker, listed.name));
    }
    require_size(directory / listed.name, listed);
    files.emplace_back(directory / listed.name);
    require_identity(files.back(), manifest, worker);
  }
  return files;
}

using TensorIndex = std::map<std::string, const TensorRecord*, std::less<>>;

TensorIndex index_tensors(const std::vector<SafetensorsFile>& files) {
  TensorIndex index;
  std::map<const TensorRecord*, const SafetensorsFile*> holder;
  for (const SafetensorsFile& file : files) {
    for (const TensorRecord& tensor : file.tensors()) {
      const auto [place, is_new] = index.emplace(tensor.name, &tensor);
      if (!is_new) {
        throw CheckpointError(fmt::format("{}: tensor '{}': is in {} too", file.path().string(),
                                          tensor.name,
                                          holder.at(place->second)->path().filename().string()));
      }
      holder.emplace(&tensor, &file);
    }
  }
  return index;
}

TensorInventory count_names(const TensorIndex& index) {
  Hasher hasher;
  for (const auto& [name, tensor] : index) {
    hasher.update(name);
    hasher.update("\n");
  }
  return TensorInventory{.count = static_cast<std::int64_t>(index.size()),
                         .names_xxh3_128 = hasher.hex()};
}

void require_hash(const fs::path& path, const ManifestFile& file) {
  const std::string hash = hash_file(path);
  if (hash != file.xxh3_128) {
    throw CheckpointError(fmt::format("{}: its content hashes to {}, the manifest says {}: damaged",
                                      path.string(), hash, file.xxh3_128));
  }
}

CheckpointEntry inspect(const fs::path& path, std::int64_t step) {
  CheckpointEntry entry;
  entry.path = path;
  entry.step = step;
  try {
    entry.manifest = read_manifest(path);
    for (const ManifestFile& file : entry.manifest->files) {
      entry.bytes += file.bytes;
    }
    for (const ManifestFile& file : entry.manifest->files) {
      require_size(path / file.name, file);
    }
    entry.status = CheckpointStatus::kComplete;
  } catch (const CheckpointError& error) {
    entry.damage = error.what();
  }
  return entry;
}

/// (step, path) of everything that has a checkpoint's name, newest first.
std::vector<std::pair<std::int64_t, fs::path>> step_folders(const fs::path& checkpoints_dir) {
  std::vector<std::pair<std::int64_t, fs::path>> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints_dir, error)) {
    if (const auto step = parse_step_name(entry.path().filename().string())) {
      folders.emplace_back(*step, entry.path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw CheckpointError(
        fmt::format("{}: cannot be listed: {}", checkpoints_dir.string(), error.message()));
  }
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

}  // namespace

TensorInventory take_inventory(const fs::path& directory, const Manifest& manifest) {
  require_no_extra_files(directory, manifest);
  return count_names(index_tensors(open_files(directory, manifest)));
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& checkpoints_dir) {
  std::vector<CheckpointEntry> entries;
  for (const auto& [step, path] : step_folders(checkpoints_dir)) {
    entries.push_back(inspect(path, step));
  }
  return entries;
}

Manifest verify_checkpoint(const fs::path& checkpoint) {
  Manifest manifest = read_manifest(checkpoint);
  // Structure first: it can name the tensor. The hash then finds what structure cannot.
  const TensorInventory inventory = take_inventory(checkpoint, manifest);
  for (const ManifestFile& file : manifest.files) {
    require_hash(checkpoint / file.name, file);
  }
  if (inventory.count != manifest.tensor_count ||
      inventory.names_xxh3_128 != manifest.tensor_names_xxh3_128) {
    throw CheckpointError(
        fmt::format("{}: its files hold {} tensors, the manifest knows {} (or others): damaged",
                    checkpoint.string(), inventory.count, manifest.tensor_count));
  }
  return manifest;
}

std::optional<Found> newest_valid(const fs::path& checkpoints_dir, const Warn& warn, Depth /*all*/,
                                  std::optional<std::int64_t> before) {
  std::vector<std::string> refused;
  std::optional<Found> found;
  for (const auto& [step, path] : step_folders(checkpoints_dir)) {
    if (before && step >= *before) {
      continue;
    }
    try {
      found = Found{.path = path, .step = step, .manifest = verify_checkpoint(path)};
      break;
    } catch (const CheckpointError& error) {
      refused.emplace_back(error.what());
    }
  }
  for (const std::string& damage : refused) {
    warn(found ? fmt::format("{}; going on from the older {}", damage,
                             found->path.filename().string())
               : fmt::format("{}; no older checkpoint is valid", damage));
  }
  return found;
}

CheckpointReader::CheckpointReader(const fs::path& checkpoint)
    : path_(checkpoint),
      manifest_(verify_checkpoint(checkpoint)),
      files_(open_files(checkpoint, manifest_)),
      by_name_(index_tensors(files_)) {}

std::vector<const TensorRecord*> CheckpointReader::tensors() const {
  std::vector<const TensorRecord*> all;
  all.reserve(by_name_.size());
  for (const auto& [name, tensor] : by_name_) {
    all.push_back(tensor);
  }
  return all;
}

const TensorRecord* CheckpointReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const TensorRecord& CheckpointReader::require(std::string_view name) const {
  const TensorRecord* tensor = find(name);
  if (tensor == nullptr) {
    throw CheckpointError(fmt::format("{}: tensor '{}' is missing: a checkpoint of another model?",
                                      path_.string(), name));
  }
  return *tensor;
}

}  // namespace gangway::checkpoint
