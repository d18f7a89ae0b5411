// SPDX-License-Identifier: MIT
#include "checkpoint/tools/repair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/files/aligned_buffer.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/chunk_reader.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/tensor_list.hpp"
#include "checkpoint/format/worker_file.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Describes a checkpoint by its manifest only, because the files may be damaged or missing.
struct Plan {
  explicit Plan(const fs::path& checkpoint)
      : path(checkpoint), manifest(read_manifest(checkpoint)) {
    if (manifest.format_version == 1) {
      throw CheckpointError(fmt::format(
          "{}: is of format 1, which has no sums of chunks: it can be verified, not repaired",
          checkpoint.string()));
    }
    index.tensors = manifest.tensors;
    index.files.resize(manifest.files.size());
    for (std::size_t file = 0; file < manifest.files.size(); ++file) {
      place(file);
    }
  }

  void place(std::size_t file) {
    std::vector<PlacedPiece> placed;
    std::map<const TensorPiece*, std::pair<std::size_t, std::size_t>> places;
    for (std::size_t t = 0; t < index.tensors.size(); ++t) {
      const StoredTensor& tensor = index.tensors[t];
      for (std::size_t p = 0; p < tensor.pieces.size(); ++p) {
        if (tensor.pieces[p].file == static_cast<int>(file)) {
          placed.push_back({.tensor = &tensor, .piece = &tensor.pieces[p]});
          places.emplace(&tensor.pieces[p], std::pair(t, p));
        }
      }
    }
    headers.push_back(
        lay_out_pieces(placed, {.step = manifest.step,
                                .epoch = manifest.epoch,
                                .worker = static_cast<int>(file),
                                .num_workers = static_cast<int>(manifest.files.size())}));
    if (file_bytes(headers.back().size(), placed) != manifest.files[file].bytes) {
      throw CheckpointError(fmt::format("{}: file {} cannot have the size that the manifest says",
                                        path.string(), file));
    }
    for (const PlacedPiece& piece : placed) {
      if (piece.bytes() != 0) {
        const auto [t, p] = places.at(piece.piece);
        index.files[file].push_back(
            {.tensor = t, .piece = p, .position = piece.position, .bytes = piece.bytes()});
      }
    }
  }

  [[nodiscard]] StoredChunk chunk(std::size_t file, std::uint64_t number) const {
    return chunk_of(index, static_cast<int>(file), number, manifest.files[file].bytes);
  }

  fs::path path;
  Manifest manifest;
  StateIndex index;
  std::vector<std::string> headers;  ///< by file
};

DamagedChunk damaged(const Plan& plan, const StoredChunk& chunk, const std::string& what) {
  const fs::path file = plan.path / plan.manifest.files[static_cast<std::size_t>(chunk.file)].name;
  return {.file = chunk.file,
          .index = chunk.index,
          .line = fmt::format("{}: {}", describe(plan.index, chunk, file), what)};
}

/// Returns a chunk's bytes if they are sound, else the damage.
std::string read_sound(ChunkReader& reader, const Plan& plan, const StoredChunk& chunk,
                       std::span<std::byte> buffer) {
  try {
    const std::span<const std::byte> bytes = reader.read(chunk, buffer);
    return damage_in(plan.manifest, chunk, bytes).value_or("");
  } catch (const CheckpointError& error) {
    return error.what();
  }
}

std::vector<DamagedChunk> damage_of(const Plan& plan) {
  std::vector<DamagedChunk> found;
  ChunkReader reader(plan.path, plan.manifest, Caching::kDirect);
  const AlignedBuffer buffer(kChunkBytes);
  for (std::size_t file = 0; file < plan.manifest.files.size(); ++file) {
    for (std::uint64_t number = 0; number < num_chunks(plan.manifest.files[file].bytes); ++number) {
      const StoredChunk chunk = plan.chunk(file, number);
      if (const std::string wrong = read_sound(reader, plan, chunk, buffer.bytes());
          !wrong.empty()) {
        found.push_back(damaged(plan, chunk, wrong));
      }
    }
  }
  return found;
}

/// Assembles a chunk from the header, which the manifest determines, and `source`. Returns false if
/// the sum differs.
bool rebuild(const Plan& plan, const StoredChunk& chunk, const ElementSource& source,
             std::span<std::byte> out) {
  const std::string& header = plan.headers[static_cast<std::size_t>(chunk.file)];
  const std::uint64_t first = chunk.index * kChunkBytes;
  if (first < header.size()) {
    std::memcpy(out.data(), header.data() + first,
                std::min<std::size_t>(header.size() - static_cast<std::size_t>(first), out.size()));
  }
  for (const ChunkPart& part : chunk.parts) {
    if (!source(plan.index.tensors[part.tensor], part.begin, part.end,
                out.subspan(part.offset, part.bytes))) {
      return false;
    }
  }
  return !damage_in(plan.manifest, chunk, out);
}

/// Rewrites the whole file. Returns false without a change if `source` lacks a damaged chunk.
bool rewrite(const FileSystem& files, const Plan& plan, std::size_t file,
             const ElementSource& source) {
  const ManifestFile& listed = plan.manifest.files[file];
  const fs::path target = plan.path / listed.name;
  const fs::path fresh = plan.path / repair_name(listed.name);
  files.remove(fresh);  // of a killed repair
  NewFile out(files, fresh, listed.bytes, Caching::kDirect);
  ChunkReader reader(plan.path, plan.manifest, Caching::kDirect);
  const AlignedBuffer buffer(kChunkBytes);
  for (std::uint64_t number = 0; number < num_chunks(listed.bytes); ++number) {
    const StoredChunk chunk = plan.chunk(file, number);
    const std::span<std::byte> bytes = buffer.bytes().first(chunk.bytes);
    if (!read_sound(reader, plan, chunk, buffer.bytes()).empty() &&
        !rebuild(plan, chunk, source, bytes)) {
      return false;
    }
    out.write(bytes);
  }
  out.finish();
  if (files.rename(fresh, target) != 0) {
    const int error = errno;
    files.remove(fresh);
    throw EnvironmentError(fmt::format("{}: cannot be put in the place of the damaged file: {}",
                                       fresh.string(), cause_of(error)));
  }
  sync_directory(files, plan.path);
  return true;
}

/// Returns elements [begin, end) of `theirs` in the stored order of `ours`, which differs.
void read_reordered(StoredState& state, const StoredTensor& theirs, const StoredTensor& ours,
                    std::uint64_t begin, std::span<std::byte> out) {
  std::vector<std::byte> row_major(static_cast<std::size_t>(theirs.num_bytes()));
  state.read_row_major(theirs, row_major);
  const std::size_t item = item_size(ours.type);
  for (std::size_t i = 0; i * item < out.size(); ++i) {
    std::memcpy(out.data() + i * item, row_major.data() + row_major_index(ours, begin + i) * item,
                item);
  }
}

}  // namespace

std::vector<DamagedChunk> find_damage(const fs::path& checkpoint) {
  return damage_of(Plan(checkpoint));
}

ElementSource elements_of(const fs::path& other_checkpoint) {
  const auto state = std::make_shared<StoredState>(other_checkpoint);
  return [state](const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                 std::span<std::byte> out) {
    const StoredTensor* theirs = state->find(tensor.name);
    if (theirs == nullptr || theirs->type != tensor.type || theirs->shape != tensor.shape) {
      return false;
    }
    try {
      if (theirs->order == tensor.order) {
        state->read_elements(*theirs, begin, end, out);
      } else {
        read_reordered(*state, *theirs, tensor, begin, out);
      }
    } catch (const CheckpointError&) {
      return false;  // damaged in the other checkpoint, too
    }
    return true;
  };
}

RepairResult repair_checkpoint(const fs::path& checkpoint, const ElementSource& source,
                               const FileSystem& files) {
  const Plan plan(checkpoint);
  const std::vector<DamagedChunk> found = damage_of(plan);
  RepairResult result;
  for (std::size_t file = 0; file < plan.manifest.files.size(); ++file) {
    std::vector<DamagedChunk> here;
    std::copy_if(found.begin(), found.end(), std::back_inserter(here),
                 [&](const DamagedChunk& chunk) { return chunk.file == static_cast<int>(file); });
    if (here.empty()) {
      continue;
    }
    std::vector<DamagedChunk>& list =
        rewrite(files, plan, file, source) ? result.repaired : result.left;
    list.insert(list.end(), here.begin(), here.end());
  }
  return result;
}

}  // namespace gangway::checkpoint
