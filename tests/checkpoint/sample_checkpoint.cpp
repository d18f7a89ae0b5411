// SPDX-License-Identifier: MIT
#include "tests/checkpoint/sample_checkpoint.hpp"

#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>

#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/safetensors_layout.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "tests/checkpoint/write_worker_file.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

OwnedTensor make_tensor(const std::string& name, ElementType type, std::vector<std::int64_t> shape,
                        std::uint64_t salt) {
  std::size_t bytes = item_size(type);
  for (const std::int64_t extent : shape) {
    bytes *= static_cast<std::size_t>(extent);
  }
  OwnedTensor tensor{.name = name,
                     .type = type,
                     .shape = std::move(shape),
                     .bytes = std::vector<std::byte>(bytes)};
  std::uint64_t state = salt * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : tensor.bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return tensor;
}

std::vector<OwnedTensor> sample_state(std::int64_t step) {
  const auto salt = static_cast<std::uint64_t>(step) * 16;
  return {make_tensor("generator.0.weight", ElementType::kF32, {16, 8, 3, 3}, salt),
          make_tensor("generator.0.bias", ElementType::kF32, {16}, salt + 1),
          make_tensor("discriminator.0.weight", ElementType::kF32, {33, 7}, salt + 2),
          make_tensor("optimizer.generator.steps", ElementType::kI64, {}, salt + 3),
          make_tensor("ema.generator.0.weight", ElementType::kF64, {5, 5}, salt + 4),
          make_tensor("random.state", ElementType::kU8, {37}, salt + 5),
          make_tensor("nothing", ElementType::kF32, {0, 4}, salt + 6),
          make_tensor("größe/σ", ElementType::kBF16, {3}, salt + 7)};
}

std::vector<TensorRecord> records(const std::vector<OwnedTensor>& tensors) {
  std::vector<TensorRecord> list;
  for (const OwnedTensor& tensor : tensors) {
    list.push_back(tensor.record());
  }
  return list;
}

Manifest sample_manifest(std::int64_t step) {
  return Manifest{.step = step,
                  .images = step * 128,
                  .epoch = 1,
                  .job_yaml = "training:\n  batch: 128  # \"seal_xxh3_128\": \"\n",
                  .job_fingerprint = "5d1f",
                  .model_fingerprint = "dcgan-32",
                  .numerics = "threads=1 wire=fp32",
                  .data_fingerprint = "77aa",
                  .data_cursor = step * 128,
                  .software = {{"gangway", "0.1.0"}},
                  .created = "2026-11-21T10:36:00Z"};
}

fs::path write_parts(const fs::path& checkpoints_dir, const std::vector<OwnedTensor>& state,
                     int num_workers, const Sharding& sharding, Manifest& manifest) {
  fs::path temporary = begin_checkpoint(checkpoints_dir, manifest.step);
  for (int worker = 0; worker < num_workers; ++worker) {
    std::vector<TensorRecord> part;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (sharding(i) == worker) {
        part.push_back(state[i].record());
      }
    }
    const FileReport report = write_worker_file(temporary,
                                                {.step = manifest.step,
                                                 .epoch = manifest.epoch,
                                                 .worker = worker,
                                                 .num_workers = num_workers},
                                                part);
    manifest.files.push_back({.name = report.name,
                              .worker = worker,
                              .bytes = report.bytes,
                              .xxh3_128 = report.xxh3_128});
  }
  return temporary;
}

fs::path commit_sample(const fs::path& checkpoints_dir, std::int64_t step, int num_workers) {
  Manifest manifest = sample_manifest(step);
  const fs::path temporary = write_parts(
      checkpoints_dir, sample_state(step), num_workers,
      [num_workers](std::size_t i) { return static_cast<int>(i) % num_workers; }, manifest);
  return commit_checkpoint(temporary, manifest);
}

std::vector<std::byte> channels_last(const OwnedTensor& tensor) {
  const StoredTensor stored{.name = tensor.name,
                            .type = tensor.type,
                            .shape = tensor.shape,
                            .order = StoredOrder::kChannelsLast};
  const std::size_t item = item_size(tensor.type);
  std::vector<std::byte> bytes(tensor.bytes.size());
  for (std::size_t i = 0; i < bytes.size() / item; ++i) {
    std::memcpy(&bytes[i * item], &tensor.bytes[row_major_index(stored, i) * item], item);
  }
  return bytes;
}

namespace {

/// A state as it lies in memory, with each worker's pieces.
struct CutState {
  std::deque<std::vector<std::byte>> reordered;
  std::vector<std::vector<PieceRecord>> by_worker;
};

CutState cut(const std::vector<OwnedTensor>& state, int num_workers) {
  CutState result;
  result.by_worker.resize(static_cast<std::size_t>(num_workers));
  for (const OwnedTensor& tensor : state) {
    const bool reorders = tensor.shape.size() == 4;
    const std::span<const std::byte> bytes =
        reorders ? result.reordered.emplace_back(channels_last(tensor)) : tensor.bytes;
    const std::size_t item = item_size(tensor.type);
    const std::size_t elements = bytes.size() / item;
    for (std::size_t worker = 0; worker < result.by_worker.size(); ++worker) {
      const std::size_t begin =
          elements * worker * worker / result.by_worker.size() / result.by_worker.size();
      const std::size_t end = elements * (worker + 1) * (worker + 1) / result.by_worker.size() /
                              result.by_worker.size();
      if (begin == end && (elements != 0 || worker != 0)) {
        continue;
      }
      result.by_worker[worker].push_back(
          {.of = {.name = tensor.name,
                  .type = tensor.type,
                  .order = reorders ? StoredOrder::kChannelsLast : StoredOrder::kRowMajor,
                  .shape = tensor.shape,
                  .begin = begin,
                  .end = end},
           .bytes = bytes.subspan(begin * item, (end - begin) * item)});
    }
  }
  return result;
}

}  // namespace

fs::path commit_in_pieces(const fs::path& checkpoints_dir, const std::vector<OwnedTensor>& state,
                          Manifest manifest, int num_workers) {
  const CutState parts = cut(state, num_workers);
  const fs::path temporary = begin_checkpoint(checkpoints_dir, manifest.step);
  for (int worker = 0; worker < num_workers; ++worker) {
    const FileReport report =
        write_worker_pieces(temporary,
                            {.step = manifest.step,
                             .epoch = manifest.epoch,
                             .worker = worker,
                             .num_workers = num_workers},
                            parts.by_worker[static_cast<std::size_t>(worker)]);
    manifest.files.push_back({.name = report.name,
                              .worker = worker,
                              .bytes = report.bytes,
                              .xxh3_128 = report.xxh3_128});
  }
  return commit_checkpoint(temporary, manifest);
}

fs::path commit_sample_in_pieces(const fs::path& checkpoints_dir, std::int64_t step,
                                 int num_workers) {
  return commit_in_pieces(checkpoints_dir, sample_state(step), sample_manifest(step), num_workers);
}

std::vector<std::byte> bytes_of(StoredState& state, const StoredTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.num_bytes()));
  state.read_row_major(tensor, bytes);
  return bytes;
}

std::map<std::string, std::string> metadata_in(const fs::path& file) {
  return read_header(open_regular_file(file), file).metadata;
}

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string checkpoint_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "";
}

}  // namespace gangway::checkpoint
