// SPDX-License-Identifier: MIT
#include "worker/figures/step_logits.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/numbers/histogram.hpp"

namespace gangway::worker {
namespace {

using Origin = JudgedLogits::Origin;

/// Averages the values added under each name.
class FigureMeans {
 public:
  void add(const std::string& name, double value) {
    Mean& mean = means_[name];
    mean.sum += value;
    ++mean.count;
  }
  [[nodiscard]] std::vector<messages::NamedFigure> values() const {
    std::vector<messages::NamedFigure> values;
    for (const auto& [name, mean] : means_) {
      values.push_back({name, mean.sum / mean.count});
    }
    return values;
  }

 private:
  struct Mean {
    double sum = 0.0;
    int count = 0;
  };
  std::map<std::string, Mean> means_;
};

double mean_of(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double share_above(double boundary, std::span<const float> values) {
  const auto above =
      std::ranges::count_if(values, [boundary](float value) { return value > boundary; });
  return static_cast<double>(above) / static_cast<double>(values.size());
}

const char* word_of(Origin origin) { return origin == Origin::kReal ? "real" : "fake"; }

}  // namespace

void StepLogits::close() {
  if (entries_.empty()) {
    return;
  }
  std::vector<at::Tensor> flat;
  std::int64_t end = 0;
  for (JudgedLogits& entry : entries_) {
    flat.push_back(std::exchange(entry.logits, {}).reshape(-1).to(at::kFloat));
    end += flat.back().numel();
    ends_.push_back(end);
  }
  on_host_ = at::cat(flat).to(at::kCPU, /*non_blocking=*/true);
}

std::span<const float> StepLogits::values_of(std::size_t entry) const {
  const std::int64_t begin = entry == 0 ? 0 : ends_[entry - 1];
  return {on_host_.const_data_ptr<float>() + begin, static_cast<std::size_t>(ends_[entry] - begin)};
}

std::vector<messages::NamedFigure> StepLogits::figures_of(int microbatch) const {
  FigureMeans means;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const JudgedLogits& entry = entries_[i];
    const std::span<const float> values = values_of(i);
    if (entry.microbatch != microbatch || values.empty()) {
      continue;
    }
    means.add(entry.network + "_" + word_of(entry.origin) + "_logit", mean_of(values));
    if (!entry.boundary) {
      continue;
    }
    const double share = share_above(*entry.boundary, values);
    if (entry.origin == Origin::kReal) {
      means.add(entry.network + "_real_share", share);
    }
    means.add(entry.network + "_accuracy", entry.origin == Origin::kReal ? share : 1.0 - share);
  }
  return means.values();
}

std::vector<messages::HistogramPart> StepLogits::histograms(std::int64_t step) const {
  std::map<std::string, Histogram> by_tag;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    by_tag["Logits/" + entries_[i].network + "/" + word_of(entries_[i].origin)].add(values_of(i));
  }
  std::vector<messages::HistogramPart> parts;
  for (const auto& [tag, histogram] : by_tag) {
    parts.push_back({.step = step, .tag = tag, .counts = histogram.counts()});
  }
  return parts;
}

}  // namespace gangway::worker
