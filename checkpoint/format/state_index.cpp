// SPDX-License-Identifier: MIT
#include "checkpoint/format/state_index.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/errors.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/safetensors_layout.hpp"
#include "checkpoint/format/worker_file.hpp"

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

void require_identity(const FileHeader& header, const fs::path& path, const Manifest& manifest,
                      int worker) {
  const FileIdentity identity{.step = manifest.step,
                              .epoch = manifest.epoch,
                              .worker = worker,
                              .num_workers = static_cast<int>(manifest.files.size())};
  for (const auto& [key, value] : metadata_of(identity)) {
    const auto found = header.metadata.find(key);
    if (found == header.metadata.end() || found->second != value) {
      throw CheckpointError(fmt::format(
          "{}: says {} = {}, the manifest {}: a file of another checkpoint", path.string(), key,
          found == header.metadata.end() ? "nothing" : found->second.substr(0, 20), value));
    }
  }
}

/// Returns the entry's position, checked to be aligned to its items: no item spans two chunks.
std::uint64_t aligned_position(const FileHeader& header, const FileEntry& entry,
                               const std::string& file) {
  const std::uint64_t position = header.data_begin + entry.begin;
  if (position % item_size(entry.type) != 0) {
    throw CheckpointError(
        fmt::format("{}: tensor '{}': is not aligned to its items: damaged", file, entry.name));
  }
  return position;
}

/// Adds a file's tensors in format 1, where only the file's header lists them.
void add_whole_tensors(StateIndex& index, const FileHeader& header, int file,
                       std::map<std::string, int>& holders, const Manifest& manifest) {
  for (const FileEntry& entry : header.entries) {
    const auto [holder, is_new] = holders.emplace(entry.name, file);
    if (!is_new) {
      throw CheckpointError(fmt::format(
          "{}: tensor '{}': is in {} too", manifest.files[static_cast<std::size_t>(file)].name,
          entry.name, manifest.files[static_cast<std::size_t>(holder->second)].name));
    }
    StoredTensor tensor{.name = entry.name, .type = entry.type, .shape = entry.shape};
    tensor.pieces.push_back(
        {.file = file,
         .end = tensor.num_elements(),
         .position =
             aligned_position(header, entry, manifest.files[static_cast<std::size_t>(file)].name)});
    index.tensors.push_back(std::move(tensor));
  }
}

/// Checks that a file's header lists exactly the manifest's pieces; sets their positions.
void place_pieces(const FileHeader& header, const fs::path& path,
                  std::map<std::string, TensorPiece*>& expected,
                  const std::map<const TensorPiece*, const StoredTensor*>& owners) {
  for (const FileEntry& entry : header.entries) {
    const auto found = expected.find(entry.name);
    if (found == expected.end()) {
      throw CheckpointError(fmt::format("{}: tensor '{}' is not in the manifest: damaged",
                                        path.string(), entry.name));
    }
    TensorPiece& piece = *found->second;
    const StoredTensor& tensor = *owners.at(&piece);
    const std::vector<std::int64_t> flat{static_cast<std::int64_t>(piece.end - piece.begin)};
    if (entry.type != tensor.type ||
        entry.shape != (is_stored_whole(tensor, piece) ? tensor.shape : flat)) {
      throw CheckpointError(
          fmt::format("{}: tensor '{}': has another type or shape than the manifest says: damaged",
                      path.string(), entry.name));
    }
    piece.position = aligned_position(header, entry, path.string());
    expected.erase(found);
  }
  if (!expected.empty()) {
    throw CheckpointError(fmt::format("{}: tensor '{}' of the manifest is missing: damaged",
                                      path.string(), expected.begin()->first));
  }
}

void sort_into_files(StateIndex& index, std::size_t num_files) {
  index.files.resize(num_files);
  for (std::size_t t = 0; t < index.tensors.size(); ++t) {
    const StoredTensor& tensor = index.tensors[t];
    for (std::size_t p = 0; p < tensor.pieces.size(); ++p) {
      const TensorPiece& piece = tensor.pieces[p];
      const std::uint64_t bytes = (piece.end - piece.begin) * item_size(tensor.type);
      if (bytes != 0) {
        index.files[static_cast<std::size_t>(piece.file)].push_back(
            {.tensor = t, .piece = p, .position = piece.position, .bytes = bytes});
      }
    }
  }
  for (std::vector<FilePiece>& file : index.files) {
    std::ranges::sort(file, {}, &FilePiece::position);
  }
}

}  // namespace

Manifest read_manifest(const fs::path& checkpoint) {
  require_real_directory(checkpoint);
  const fs::path path = checkpoint / kManifestName;
  Manifest manifest = parse_manifest(read_stored_file(path, kMaxManifestBytes), path.string());
  const std::optional<std::int64_t> named = parse_step_name(last_component(checkpoint));
  if (named && *named != manifest.step) {
    throw CheckpointError(fmt::format("{}: its manifest is of step {}: the folder was renamed",
                                      checkpoint.string(), manifest.step));
  }
  return manifest;
}

void require_files(const fs::path& directory, const Manifest& manifest) {
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    if (file.name !=
        worker_file_name(static_cast<int>(i), static_cast<int>(manifest.files.size()))) {
      throw CheckpointError(
          fmt::format("{}: file {} of the manifest is '{}'", directory.string(), i, file.name));
    }
    known.insert(file.name);
    const std::uint64_t bytes = open_regular_file(directory / file.name).bytes;
    if (bytes != file.bytes) {
      throw CheckpointError(fmt::format("{}: has {} bytes, the manifest says {}: {}",
                                        (directory / file.name).string(), bytes, file.bytes,
                                        bytes < file.bytes ? "truncated" : "damaged"));
    }
  }
  // A worker file that is not in the manifest means that files of two checkpoints were mixed.
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (is_worker_file_name(name) && !known.contains(name)) {
      throw CheckpointError(fmt::format("{}: is not in the manifest: a file of another checkpoint",
                                        entry.path().string()));
    }
  }
  if (error) {
    throw CheckpointError(
        fmt::format("{}: cannot be listed: {}", directory.string(), error.message()));
  }
}

StateIndex index_state(const fs::path& directory, const Manifest& manifest) {
  StateIndex index{.tensors = manifest.tensors};
  std::vector<std::map<std::string, TensorPiece*>> expected(manifest.files.size());
  std::map<const TensorPiece*, const StoredTensor*> owners;
  for (StoredTensor& tensor : index.tensors) {
    for (TensorPiece& piece : tensor.pieces) {
      expected[static_cast<std::size_t>(piece.file)].emplace(piece_name(tensor, piece), &piece);
      owners.emplace(&piece, &tensor);
    }
  }
  std::map<std::string, int> holders;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const fs::path path = directory / manifest.files[i].name;
    const FileHeader header = read_header(open_regular_file(path), path);
    require_identity(header, path, manifest, static_cast<int>(i));
    if (manifest.format_version == 1) {
      add_whole_tensors(index, header, static_cast<int>(i), holders, manifest);
    } else {
      place_pieces(header, path, expected[i], owners);
    }
  }
  std::ranges::sort(index.tensors, {}, &StoredTensor::name);
  sort_into_files(index, manifest.files.size());
  return index;
}

StoredChunk chunk_of(const StateIndex& index, int file, std::uint64_t chunk,
                     std::uint64_t file_bytes) {
  const std::uint64_t first = chunk * kChunkBytes;
  const std::uint64_t last = std::min<std::uint64_t>(first + kChunkBytes, file_bytes);
  StoredChunk result{.file = file, .index = chunk, .bytes = static_cast<std::size_t>(last - first)};
  const std::vector<FilePiece>& pieces = index.files.at(static_cast<std::size_t>(file));
  auto piece = std::ranges::upper_bound(
      pieces, first, {}, [](const FilePiece& one) { return one.position + one.bytes; });
  for (; piece != pieces.end() && piece->position < last; ++piece) {
    const StoredTensor& tensor = index.tensors[piece->tensor];
    const std::size_t item = item_size(tensor.type);
    const std::uint64_t begin = std::max(piece->position, first);
    const std::uint64_t end = std::min(piece->position + piece->bytes, last);
    const std::uint64_t element = tensor.pieces[piece->piece].begin;
    result.parts.push_back({.tensor = piece->tensor,
                            .begin = element + (begin - piece->position) / item,
                            .end = element + (end - piece->position) / item,
                            .offset = static_cast<std::size_t>(begin - first),
                            .bytes = static_cast<std::size_t>(end - begin)});
  }
  return result;
}

std::string describe(const StateIndex& index, const StoredChunk& chunk, const fs::path& file) {
  std::string names;
  if (chunk.parts.empty()) {
    names = "header";
  } else {
    const std::string& first = index.tensors[chunk.parts.front().tensor].name;
    names = chunk.parts.size() == 1 ? fmt::format("tensor '{}'", first)
                                    : fmt::format("tensors '{}' to '{}'", first,
                                                  index.tensors[chunk.parts.back().tensor].name);
  }
  const std::uint64_t begin = chunk.index * kChunkBytes;
  return fmt::format("{}: chunk {} (bytes {} to {}, {})", file.string(), chunk.index, begin,
                     begin + chunk.bytes, names);
}

}  // namespace gangway::checkpoint
