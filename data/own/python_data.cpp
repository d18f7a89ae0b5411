// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/environment.hpp"
#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "data/contents/fingerprint.hpp"
#include "data/open_dataset.hpp"
#include "data/permutation.hpp"
#include "job/families/families.hpp"
#include "python/examples/reader_process.hpp"
#include "python/read/python_home.hpp"

namespace gangway::data {
namespace {

/// Number of examples in the fingerprint.
constexpr std::int64_t kFingerprinted = 16;

/// Returns the names of an example's pictures, in the recipe's order.
std::vector<std::string> picture_names(const DataSpec& spec) {
  if (!spec.has_two_sides()) {
    return {"image"};
  }
  return spec.direction == PairDirection::kAToB ? std::vector<std::string>{"a", "b"}
                                                : std::vector<std::string>{"b", "a"};
}

const NamedTensor* find(const NamedBatch& batch, const std::string& name) {
  const auto found = std::ranges::find(batch.tensors, name, &NamedTensor::name);
  return found == batch.tensors.end() ? nullptr : &*found;
}

std::string text_of(const NamedTensor& tensor) {
  return fmt::format("{} [{}] {}", tensor.name,
                     fmt::join(tensor.shape.begin() + 1, tensor.shape.end(), ", "), tensor.type);
}

std::string text_of(const NamedBatch& batch) {
  std::vector<std::string> texts;
  for (const NamedTensor& tensor : batch.tensors) {
    texts.push_back(text_of(tensor));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

bool is_picture(const NamedTensor& tensor, const ModelSpec& model) {
  const std::vector<std::int64_t> wanted = example_shape(model);
  return (tensor.type == "float32" || tensor.type == "uint8") &&
         std::equal(tensor.shape.begin() + 1, tensor.shape.end(), wanted.begin(), wanted.end());
}

/// Copies one example; maps 8-bit pictures to [-1, 1], as for files.
/// @param out  the example after `first` values
void copy_values(const NamedBatch& batch, const NamedTensor& tensor, std::size_t first,
                 std::span<float> out) {
  const std::size_t bytes = tensor.type == "float32" ? sizeof(float) : 1;
  const std::byte* from = batch.bytes.data() + tensor.at + first * bytes;
  if (tensor.type == "float32") {
    std::memcpy(out.data(), from, out.size_bytes());
    return;
  }
  constexpr float kHalf = 127.5F;
  std::transform(from, from + out.size(), out.begin(), [](std::byte value) {
    return static_cast<float>(std::to_integer<int>(value)) / kHalf - 1.0F;
  });
}

std::string hash_of(const NamedBatch& batch) {
  Fingerprint all;
  all.add(text_of(batch));
  for (const NamedTensor& tensor : batch.tensors) {  // skips gaps between tensors
    all.add(std::span(reinterpret_cast<const std::uint8_t*>(batch.bytes.data()) + tensor.at,
                      tensor.bytes));
  }
  return all.hex();
}

/// Examples of the user's Python (docs/python.md), for any thread. Runs `spec.threads` reader
/// processes, which read whole micro-batches. An example must depend on its index and seed only. To
/// check this, the last process reads the first example again, after others; in a run, readers
/// compare each example with its hash from earlier reads.
class PythonData : public Dataset {
 public:
  /// @throws ConfigError, EnvironmentError
  PythonData(const DataSpec& spec, const ModelSpec& model, std::uint64_t seed,
             const ContentsCheck* check);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return num_classes_; }
  [[nodiscard]] Reads reads() const override { return reads_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void read_pictures(std::span<const SeededExample> examples, std::span<float> images,
                     std::span<std::int64_t> labels) const override;
  void read_named(std::span<const SeededExample> examples, NamedBatch& out) const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  /// Derives shape and kind of all examples from the first one.
  void look_at(const NamedBatch& first, bool collates, const DataSpec& spec,
               const ModelSpec& model);
  [[nodiscard]] bool has_pictures(const NamedBatch& first, const ModelSpec& model) const;
  /// Returns the remedy if an example is not one picture, or not two.
  [[nodiscard]] std::string remedy(const ModelSpec& model) const;
  [[nodiscard]] std::string fingerprint_of(const std::string& own, python::ReaderProcess& reader);
  /// Reads with `reader`. Restarts a reader that was killed (e.g. out of memory) or waits for a
  /// disk; the new one reads the same.
  void read_with(std::unique_ptr<python::ReaderProcess>& reader,
                 std::span<const SeededExample> examples, NamedBatch& out) const;

  PythonSpec spec_;
  std::string executable_;
  std::chrono::milliseconds read_deadline_;
  std::int64_t size_ = 0;
  ExampleShape shape_;
  int num_classes_ = 0;
  int most_classes_ = 0;                 // most classes that the job allows
  std::vector<std::string> pictures_{};  // names of an example's pictures
  Reads reads_ = Reads::kNamed;
  std::string first_text_;  // text of the first example, if examples are pictures
  std::string fingerprint_;
  std::string hashes_;  // this run's file of hashes; empty: no comparison

  mutable Mutex mutex_;
  mutable std::condition_variable_any changed_;
  mutable std::vector<std::unique_ptr<python::ReaderProcess>> idle_ GANGWAY_GUARDED_BY(mutex_);
};

PythonData::PythonData(const DataSpec& spec, const ModelSpec& model, std::uint64_t seed,
                       const ContentsCheck* check)
    : spec_(spec.module.python_spec("data.source", seed)),
      executable_(find_python(spec.python, read_environment(), torch_folder()).executable.string()),
      read_deadline_(std::chrono::ceil<std::chrono::milliseconds>(
          std::chrono::duration<double>(spec.read_seconds))),
      most_classes_(model.classes),
      pictures_(picture_names(spec)) {
  std::vector<std::unique_ptr<python::ReaderProcess>> readers;
  for (int i = 0; i < std::max(spec.threads, 1); ++i) {
    readers.push_back(std::make_unique<python::ReaderProcess>(spec_, executable_));
  }
  python::ReaderProcess::Description told;
  for (const auto& reader : readers) {
    told = reader->describe([check] {
      if (check != nullptr && check->progress) {
        check->progress(0, 0);
      }
    });
  }
  size_ = spec.limit == 0 ? told.size : spec.limit;
  if (size_ > told.size) {
    refuse(fmt::format("has {} examples, and data.limit is {}", told.size, spec.limit));
  }
  num_classes_ = static_cast<int>(told.classes);
  NamedBatch first;
  readers.front()->read(std::vector{SeededExample{0, seed}}, first, read_deadline_);
  look_at(first, told.collates, spec, model);
  fingerprint_ = fingerprint_of(told.fingerprint, *readers.back());
  NamedBatch again;
  readers.back()->read(std::vector{SeededExample{0, seed}}, again, read_deadline_);
  if (hash_of(first) != hash_of(again)) {
    refuse(
        "makes another example of the same index when it is read again, or by another process: "
        "what it draws has to come from torch, random or numpy.random, which are seeded for each "
        "example, and what it keeps is lost");
  }
  if (check != nullptr && !check->run_folder.empty()) {
    hashes_ = (check->run_folder / fmt::format("examples-{}.hashes", fingerprint_)).string();
    for (const auto& reader : readers) {
      reader->remember_in(hashes_, read_deadline_);
    }
  }
  const MutexLock lock(mutex_);
  idle_ = std::move(readers);
}

void PythonData::refuse(const std::string& what) const {
  throw ConfigError(fmt::format("data.source: {}:{}: {}",
                                spec_.file.substr(spec_.file.rfind('/') + 1), spec_.python_class,
                                what));
}

void PythonData::look_at(const NamedBatch& first, bool collates, const DataSpec& spec,
                         const ModelSpec& model) {
  const NamedTensor* label = find(first, "label");
  if (!collates && has_pictures(first, model)) {
    reads_ = Reads::kPictures;
    first_text_ = text_of(first);
    const std::vector<std::int64_t> shape = example_shape(model);
    shape_.channels = static_cast<int>(shape.front() * std::ssize(pictures_));
    if (shape.size() == 3) {
      shape_.height = static_cast<int>(shape[1]);
      shape_.width = static_cast<int>(shape[2]);
    }
    if (label == nullptr && model.classes > 0) {
      refuse(fmt::format("has no label, but model.classes is {}; set it to 0 or add labels",
                         model.classes));
    }
    if (num_classes_ > model.classes && model.classes > 0) {
      refuse(fmt::format("has {} classes, but model.classes is {}; set it to {}", num_classes_,
                         model.classes, num_classes_));
    }
    if (label == nullptr) {
      num_classes_ = 0;
    } else if (num_classes_ == 0) {  // unknown: labels are checked at each read
      num_classes_ = model.classes;
    }
    return;
  }
  if (spec.takes != ExampleKind::kAny) {
    refuse(fmt::format("has examples of {}{}; {}", text_of(first),
                       collates ? " that it collates" : "", remedy(model)));
  }
  if (spec.mirror || spec.augment != AugmentSpec{}) {
    refuse(fmt::format("has examples of {}: data.mirror and data.augment are for pictures",
                       text_of(first)));
  }
}

bool PythonData::has_pictures(const NamedBatch& first, const ModelSpec& model) const {
  const NamedTensor* label = pictures_.size() == 1 ? find(first, "label") : nullptr;
  const bool are_all = std::ranges::all_of(pictures_, [&](const std::string& name) {
    const NamedTensor* picture = find(first, name);
    return picture != nullptr && is_picture(*picture, model);
  });
  return are_all && first.tensors.size() == pictures_.size() + (label != nullptr ? 1 : 0) &&
         (label == nullptr || (label->type == "int64" && label->shape.size() == 1));
}

std::string PythonData::remedy(const ModelSpec& model) const {
  const std::string shape = fmt::format("[{}]", fmt::join(example_shape(model), ", "));
  return pictures_.size() == 1
             ? fmt::format(
                   "the job's recipe trains with image {} float32 (or uint8), and label [] "
                   "int64 where model.classes is above 0: anything else needs a "
                   "training.step",
                   shape)
             : fmt::format(
                   "the job's recipe makes pictures of pictures: return {{\"a\": picture, "
                   "\"b\": picture}}, each {} float32 (or uint8)",
                   shape);
}

std::string PythonData::fingerprint_of(const std::string& own, python::ReaderProcess& reader) {
  Fingerprint all;
  all.add(size_);
  all.add(own);
  const std::int64_t count = std::min(size_, kFingerprinted);
  for (std::int64_t i = 0; i < count; ++i) {
    NamedBatch batch;
    reader.read(std::vector{SeededExample{i * size_ / count, 0}}, batch, read_deadline_);
    all.add(hash_of(batch));
  }
  return all.hex();
}

void PythonData::read_named(std::span<const SeededExample> examples, NamedBatch& out) const {
  std::unique_ptr<python::ReaderProcess> reader;
  {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() GANGWAY_REQUIRES(mutex_) { return !idle_.empty(); });
    reader = std::move(idle_.back());
    idle_.pop_back();
  }
  const auto give_back = [this, &reader] {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(reader));
    changed_.notify_one();
  };
  try {
    read_with(reader, examples, out);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

void PythonData::read_with(std::unique_ptr<python::ReaderProcess>& reader,
                           std::span<const SeededExample> examples, NamedBatch& out) const {
  constexpr int kMostReaders = 3;  // readers killed by the same examples
  constexpr int kMostLate = 2;     // a class that hangs will hang again
  for (int killed = 0, late = 0;;) {
    try {
      return reader->read(examples, out, read_deadline_);
    } catch (const python::ReaderKilled&) {
      if (++killed == kMostReaders) {
        throw;
      }
    } catch (const python::ReaderLate&) {
      if (++late == kMostLate) {
        throw;
      }
    }
    reader = std::make_unique<python::ReaderProcess>(spec_, executable_);
    (void)reader->describe({});
    if (!hashes_.empty()) {
      reader->remember_in(hashes_, read_deadline_);
    }
  }
}

void PythonData::read_pictures(std::span<const SeededExample> examples, std::span<float> images,
                               std::span<std::int64_t> labels) const {
  NamedBatch batch;
  read_named(examples, batch);
  if (text_of(batch) != first_text_) {
    refuse(fmt::format("has {} in example {}, and {} in example 0", text_of(batch),
                       examples.front().index, first_text_));
  }
  const std::size_t values = shape_.elements() / pictures_.size();
  for (std::size_t i = 0; i < examples.size() * pictures_.size(); ++i) {
    copy_values(batch, *find(batch, pictures_[i % pictures_.size()]), i / pictures_.size() * values,
                images.subspan(i * values, values));
  }
  std::ranges::fill(labels, 0);
  if (const NamedTensor* label = find(batch, "label")) {
    std::memcpy(labels.data(), batch.bytes.data() + label->at, labels.size_bytes());
  }
  const auto wrong = std::ranges::find_if(labels, [this](std::int64_t label) {
    return most_classes_ > 0 && (label < 0 || label >= most_classes_);
  });
  if (wrong != labels.end()) {
    refuse(fmt::format("has label {} in example {}, and model.classes is {}", *wrong,
                       examples[static_cast<std::size_t>(wrong - labels.begin())].index,
                       most_classes_));
  }
}

int PythonData::read(std::int64_t index, std::span<float> out) const {
  if (reads() == Reads::kNamed) {
    refuse("has no pictures");
  }
  const SeededExample example{index, seed_of_example(spec_.seed, index, Asked::kByIndex)};
  std::int64_t label = 0;
  read_pictures({&example, 1}, out, {&label, 1});
  return static_cast<int>(label);
}

}  // namespace

std::unique_ptr<Dataset> open_python_data(const DataSpec& spec, const ModelSpec& model,
                                          std::uint64_t seed, const ContentsCheck* check) {
  return std::make_unique<PythonData>(spec, model, seed, check);
}

}  // namespace gangway::data
