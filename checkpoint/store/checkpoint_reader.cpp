// SPDX-License-Identifier: MIT
#include "checkpoint/store/checkpoint_reader.hpp"

#include <map>
#include <utility>

#include "base/guarded.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

struct CheckpointReader::Content {
  explicit Content(const std::filesystem::path& checkpoint) : state(checkpoint) {}

  struct ReadTensor {
    std::vector<std::byte> bytes;
    TensorRecord record;
  };

  const TensorRecord& record_of(const StoredTensor& tensor) {
    const MutexLock lock(mutex);
    const auto known = held.find(tensor.name);
    if (known != held.end()) {
      return known->second.record;
    }
    ReadTensor fresh;
    fresh.bytes.resize(static_cast<std::size_t>(tensor.num_bytes()));
    state.read_row_major(tensor, fresh.bytes);
    fresh.record = {.name = tensor.name, .type = tensor.type, .shape = tensor.shape};
    ReadTensor& kept = held.emplace(tensor.name, std::move(fresh)).first->second;
    kept.record.bytes = kept.bytes;
    return kept.record;
  }

  Mutex mutex;
  StoredState state;  // values are read under the mutex; the rest is constant
  std::map<std::string, ReadTensor, std::less<>> held GANGWAY_GUARDED_BY(mutex);
};

CheckpointReader::CheckpointReader(const std::filesystem::path& checkpoint)
    : content_(std::make_unique<Content>(checkpoint)) {}
CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const Manifest& CheckpointReader::manifest() const { return content_->state.manifest(); }

std::vector<const TensorRecord*> CheckpointReader::tensors() const {
  std::vector<const TensorRecord*> all;
  for (const StoredTensor& tensor : content_->state.tensors()) {
    all.push_back(&content_->record_of(tensor));
  }
  return all;
}

const TensorRecord* CheckpointReader::find(std::string_view name) const {
  const StoredTensor* tensor = content_->state.find(name);
  return tensor == nullptr ? nullptr : &content_->record_of(*tensor);
}

const TensorRecord& CheckpointReader::require(std::string_view name) const {
  return content_->record_of(content_->state.require(name));
}

}  // namespace gangway::checkpoint
