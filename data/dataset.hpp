// SPDX-License-Identifier: MIT
// Interface of data sets: examples are read by index, in any order, by several threads. No
// LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/named/named_batch.hpp"
#include "data/times/loader_times.hpp"

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
  kExamples,  ///< one example a call of `read`
  kPictures,  ///< a whole micro-batch a call of `read_pictures`
  kNamed,     ///< a whole micro-batch a call of `read_named`; no pictures
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Number of examples; at least 1.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual ExampleShape shape() const = 0;
  /// Returns the number of distinct labels, or 0 if there are none.
  [[nodiscard]] virtual int num_classes() const = 0;
  /// Writes example `index` into `out` (shape().elements() values in [-1, 1]; toy points unscaled)
  /// and returns its label (0 without labels). Thread-safe.
  /// @throws ConfigError naming the unreadable file
  [[nodiscard]] virtual int read(std::int64_t index, std::span<float> out) const = 0;
  [[nodiscard]] virtual Reads reads() const { return Reads::kExamples; }
  /// Reads examples that use seeds of their own into adjacent memory, with labels, as `read`.
  /// Thread-safe. @pre reads() is kPictures
  virtual void read_pictures(std::span<const SeededExample> /*examples*/,
                             std::span<float> /*images*/,
                             std::span<std::int64_t> /*labels*/) const {}
  /// Reads named tensors of any kind. @pre reads() is not kExamples
  virtual void read_named(std::span<const SeededExample> /*examples*/, NamedBatch& /*out*/) const {}
  /// Announces a read of example `index`, so that the kernel can fetch its bytes from the disk.
  /// Does not wait and reports no error. Thread-safe.
  virtual void expect(std::int64_t /*index*/) const {}
  /// Returns the label of example `index`, as read() does. By default it reads the example.
  /// Thread-safe.
  [[nodiscard]] virtual int label(std::int64_t index) const {
    std::vector<float> values(shape().elements());
    return read(index, values);
  }
  /// Returns the times of decoding so far; zeros if nothing is decoded.
  [[nodiscard]] virtual DecodeTimes decode_times() const { return {}; }
  /// Returns the identity of all files' contents: 32 hexadecimal digits, stored in each checkpoint.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Returns the identity in the format until December 2026 (names, sizes, beginnings of some
  /// files), for older checkpoints.
  [[nodiscard]] virtual std::string earlier_fingerprint() const { return fingerprint(); }
};

/// Has the examples of another set. A subclass overrides what differs.
class WrappedDataset : public Dataset {
 public:
  explicit WrappedDataset(std::unique_ptr<Dataset> all) : all_(std::move(all)) {}
  [[nodiscard]] std::int64_t size() const override { return all_->size(); }
  [[nodiscard]] ExampleShape shape() const override { return all_->shape(); }
  [[nodiscard]] int num_classes() const override { return all_->num_classes(); }
  void expect(std::int64_t index) const override { all_->expect(index); }
  [[nodiscard]] int label(std::int64_t index) const override { return all_->label(index); }
  [[nodiscard]] DecodeTimes decode_times() const override { return all_->decode_times(); }
  [[nodiscard]] std::string fingerprint() const override { return marked(all_->fingerprint()); }
  [[nodiscard]] std::string earlier_fingerprint() const override {
    return marked(all_->earlier_fingerprint());
  }

 protected:
  [[nodiscard]] const Dataset& all() const { return *all_; }
  /// Returns this set's fingerprint, made of the other set's.
  [[nodiscard]] virtual std::string marked(const std::string& of_all) const { return of_all; }

 private:
  std::unique_ptr<Dataset> all_;
};

}  // namespace gangway::data
