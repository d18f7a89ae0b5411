// SPDX-License-Identifier: MIT
// A set of images that can be read by index, in any order, by several threads. No LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gan/data/named/named_batch.hpp"
#include "gan/data/times/loader_times.hpp"

namespace gangway::data {

/// Shape of one example: images are [channels, height, width] row-major; toy points are [2, 1, 1].
struct ExampleShape {
  int channels = 1;
  int height = 1;
  int width = 1;
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
};

/// How micro-batches of a data set are read.
enum class Reads {
  kExamples,  ///< each example by itself, by `read`
  kPictures,  ///< whole, by `read_pictures`
  kNamed,     ///< whole, by `read_named`: they are no pictures
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Number of examples; at least 1.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual ExampleShape shape() const = 0;
  /// Number of distinct labels, or 0 where the source has none.
  [[nodiscard]] virtual int num_classes() const = 0;
  /// Writes example `index` into `out` (shape().elements() values in [-1, 1]; toy points unscaled)
  /// and returns its label (0 without labels). Thread-safe. @throws ConfigError naming the file
  /// that cannot be read.
  [[nodiscard]] virtual int read(std::int64_t index, std::span<float> out) const = 0;
  [[nodiscard]] virtual Reads reads() const { return Reads::kExamples; }
  /// Examples that have random numbers of their own, side by side, with their labels, as `read`.
  /// Thread-safe. @pre reads() is kPictures
  virtual void read_pictures(std::span<const SeededExample> /*examples*/,
                             std::span<float> /*images*/,
                             std::span<std::int64_t> /*labels*/) const {}
  /// The same of tensors of any kind. @pre reads() is not kExamples
  virtual void read_named(std::span<const SeededExample> /*examples*/, NamedBatch& /*out*/) const {}
  /// Tells that example `index` is about to be read: its bytes may be brought from the disk
  /// meanwhile. Does not wait for them, and complains of nothing. Thread-safe.
  virtual void expect(std::int64_t /*index*/) const {}
  /// The label of example `index`, which read() returns. Thread-safe; where there are none to look
  /// up it reads the example.
  [[nodiscard]] virtual int label(std::int64_t index) const {
    std::vector<float> values(shape().elements());
    return read(index, values);
  }
  /// What pictures took of all reads up to now; nothing where there are none to decode.
  [[nodiscard]] virtual DecodeTimes decode_times() const { return {}; }
  /// Identifies the content, of each file: 32 hexadecimal digits, kept in each checkpoint.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// The same as it was made until December 2026, of names, sizes and some files' beginnings: what
  /// older checkpoints have.
  [[nodiscard]] virtual std::string earlier_fingerprint() const { return fingerprint(); }
};

}  // namespace gangway::data
