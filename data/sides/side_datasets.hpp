// SPDX-License-Identifier: MIT
// Data sets with two pictures an example, [2 C, H, W]. Created by open_two_sides. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/archives/image_archive.hpp"
#include "data/dataset.hpp"
#include "data/images/pixels.hpp"
#include "data/sides/sided_files.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::data {

/// Some files of a folder or ZIP, decoded at each read: pictures of one side, or pairs. With
/// separate sides, two data sets share one listed archive.
class SideFiles : public Dataset {
 public:
  /// Creates a set with one picture an example.
  SideFiles(std::shared_ptr<const ImageArchive> archive, const std::vector<std::size_t>& files,
            const ModelSpec& model);
  /// Creates a set of pairs: two files, or the left and right halves of one if `first` is `second`.
  SideFiles(std::shared_ptr<const ImageArchive> archive, std::vector<FilePair> pairs,
            const ModelSpec& model);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(pairs_.size());
  }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return 0; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void expect(std::int64_t index) const override;
  [[nodiscard]] DecodeTimes decode_times() const override { return ledger_.times(); }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::string earlier_fingerprint() const override;

 private:
  [[nodiscard]] Pixels decoded(std::size_t file) const;
  void write(const Pixels& picture, std::span<float> out) const;

  std::shared_ptr<const ImageArchive> archive_;
  std::vector<FilePair> pairs_;
  ExampleShape shape_;
  int channels_;  // channels of one picture
  mutable DecodeLedger ledger_;
};

/// All pairs of a picture of one set and a picture of the other. A keyed order over them pairs each
/// picture with any picture of the other side.
class AllPairs : public Dataset {
 public:
  /// @param first, second  sets of the same shape
  AllPairs(std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  [[nodiscard]] std::int64_t size() const override { return first_->size() * second_->size(); }
  [[nodiscard]] ExampleShape shape() const override;
  [[nodiscard]] int num_classes() const override { return 0; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void expect(std::int64_t index) const override {
    first_->expect(index % first_->size());
    second_->expect(index / first_->size());
  }
  [[nodiscard]] DecodeTimes decode_times() const override {
    return first_->decode_times() + second_->decode_times();
  }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::string earlier_fingerprint() const override;

 private:
  std::unique_ptr<Dataset> first_;
  std::unique_ptr<Dataset> second_;
};

/// Pairs a picture's outlines (white on black) with the picture. An outline is where Sobel's
/// gradient exceeds that of a straight step by a quarter of the range of shades.
class Outlines : public Dataset {
 public:
  explicit Outlines(std::unique_ptr<Dataset> pictures) : pictures_(std::move(pictures)) {}
  [[nodiscard]] std::int64_t size() const override { return pictures_->size(); }
  [[nodiscard]] ExampleShape shape() const override;
  [[nodiscard]] int num_classes() const override { return pictures_->num_classes(); }
  [[nodiscard]] int label(std::int64_t index) const override { return pictures_->label(index); }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] std::string fingerprint() const override;

 private:
  std::unique_ptr<Dataset> pictures_;
};

/// Swaps the two pictures of each pair.
class SwappedPairs : public WrappedDataset {
 public:
  using WrappedDataset::WrappedDataset;
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;

 private:
  [[nodiscard]] std::string marked(const std::string& of_all) const override;
};

/// The examples of one label.
class OneClass : public Dataset {
 public:
  /// Reads all labels of `pictures` once.
  OneClass(std::unique_ptr<Dataset> pictures, int label);
  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(places_.size());
  }
  [[nodiscard]] ExampleShape shape() const override { return pictures_->shape(); }
  [[nodiscard]] int num_classes() const override { return 0; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] std::string fingerprint() const override;

 private:
  std::unique_ptr<Dataset> pictures_;
  int label_;
  std::vector<std::int64_t> places_;
};

}  // namespace gangway::data
