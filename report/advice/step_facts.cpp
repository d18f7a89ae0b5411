// SPDX-License-Identifier: MIT
#include "report/advice/step_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

namespace gangway::report {
namespace {

using Parts = std::map<std::string, double, std::less<>>;

double sum_ending(const Parts& parts, std::string_view end) {
  double sum = 0.0;
  for (const auto& [part, seconds] : parts) {
    sum += part.ends_with(end) ? seconds : 0.0;
  }
  return sum;
}

/// Returns the share of compute in all parts.
double computing_of(const Parts& parts) {
  const double all = sum_ending(parts, "");
  return all > 0.0 ? (sum_ending(parts, "_forward") + sum_ending(parts, "_backward") +
                      sum_ending(parts, "_penalty") + sum_ending(parts, "recorded")) /
                         all
                   : 0.0;
}

}  // namespace

StepFacts::StepFacts(const nlohmann::json& tick, const std::map<std::string, std::string>& keys)
    : keys_(keys) {
  const auto take = [](const nlohmann::json& object, auto& numbers) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_number()) {
        numbers[name] = value.template get<double>();
      }
    }
  };
  const nlohmann::json none = nlohmann::json::object();
  const auto object_in = [&](const char* name) -> const nlohmann::json& {
    return tick.contains(name) && tick[name].is_object() ? tick[name] : none;
  };
  take(tick, numbers_);
  for (const auto& [name, value] : tick.items()) {
    if (value.is_string()) {
      texts_[name] = value.get<std::string>();
    }
  }
  take(object_in("parts"), parts_);
  host_computing_ = computing_of(parts_);
  if (Parts of_device; take(object_in("device_parts"), of_device), !of_device.empty()) {
    parts_ = std::move(of_device);  // the host launches ahead and waits for nothing
  }
  take(object_in("loader"), loader_);
  slowest_rank_ = Rank(static_cast<int>(number("parts_rank")));
  step_seconds_ = sum_ending(parts_, "");
  for (const auto& [phase, waits] : object_in("exposed").items()) {
    if (waits.is_object() && waits.value("agree", false) && step_seconds_ > 0.0) {
      norm_wait_ += waits.value("seconds", 0.0) / step_seconds_;
    }
  }
  std::vector<double> whole;
  for (const auto& [part, row] : object_in("parts_by_rank").items()) {
    const bool is_wait = part == "exchange" || part == "workers" || part == "messages";
    for (std::size_t worker = 0; row.is_array() && worker < row.size(); ++worker) {
      whole.resize(std::max(whole.size(), worker + 1), 0.0);
      waits_.resize(whole.size(), 0.0);
      tensor_waits_.resize(whole.size(), 0.0);
      const double seconds = row[worker].is_number() ? row[worker].get<double>() : 0.0;
      whole[worker] += seconds;
      waits_[worker] += is_wait ? seconds : 0.0;
      tensor_waits_[worker] += part == "tensors" ? seconds : 0.0;
    }
  }
  for (std::size_t worker = 0; worker < whole.size(); ++worker) {
    waits_[worker] = whole[worker] > 0.0 ? waits_[worker] / whole[worker] : 0.0;
    tensor_waits_[worker] = whole[worker] > 0.0 ? tensor_waits_[worker] / whole[worker] : 0.0;
  }
}

double StepFacts::mean_tensor_wait() const {
  const double sum = std::accumulate(tensor_waits_.begin(), tensor_waits_.end(), 0.0);
  return tensor_waits_.empty() ? share("tensors") : sum / static_cast<double>(tensor_waits_.size());
}

double StepFacts::share(std::string_view part) const {
  const auto found = parts_.find(part);
  return found == parts_.end() || step_seconds_ <= 0.0 ? 0.0 : found->second / step_seconds_;
}

double StepFacts::share(std::initializer_list<std::string_view> parts) const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [this](double sum, std::string_view part) { return sum + share(part); });
}

double StepFacts::share_ending(std::string_view end) const {
  return step_seconds_ > 0.0 ? sum_ending(parts_, end) / step_seconds_ : 0.0;
}

double StepFacts::computing() const { return computing_of(parts_); }

double StepFacts::number(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? 0.0 : found->second;
}

std::string StepFacts::text(const std::string& name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? "" : found->second;
}

double StepFacts::loader(std::string_view figure) const {
  const auto found = loader_.find(figure);
  return found == loader_.end() ? 0.0 : found->second;
}

double StepFacts::loader_work() const {
  return loader("read") + loader("decode") + loader("fit") + loader("augment") + loader("pack");
}

double StepFacts::interval_kimg(const std::string& name) const {
  double kimg = std::atof(key(name, "0").c_str());
  if (name.ends_with("_steps")) {
    kimg *= std::atof(key("training.batch", "0").c_str()) / 1000.0;
  } else if (name.ends_with("_seconds")) {
    kimg /= std::max(1e-9, number("seconds_per_kimg"));
  }
  return kimg > 0.0 ? kimg : std::numeric_limits<double>::infinity();
}

std::string StepFacts::key(const std::string& name, const std::string& otherwise) const {
  const auto found = keys_.find(name);
  return found == keys_.end() ? otherwise : found->second;
}

}  // namespace gangway::report
