// SPDX-License-Identifier: MIT
#include "report/run_view/tick_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gangway::report {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// Rounds to six digits, more than a screen has pixels.
nlohmann::ordered_json short_number(double value, bool is_time) {
  if (!std::isfinite(value)) {
    return nullptr;
  }
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return static_cast<std::int64_t>(value);
  }
  return std::stod(is_time ? fmt::format("{:.2f}", value) : fmt::format("{:.6g}", value));
}

/// Returns minimum and maximum in order of appearance; a single value twice.
std::pair<double, double> extremes(std::span<const double> group) {
  const double* least = nullptr;
  const double* greatest = nullptr;
  for (const double& value : group) {
    if (std::isnan(value)) {
      continue;
    }
    least = least == nullptr || value < *least ? &value : least;
    greatest = greatest == nullptr || value > *greatest ? &value : greatest;
  }
  if (least == nullptr) {
    return {kNothing, kNothing};
  }
  return least < greatest ? std::pair{*least, *greatest} : std::pair{*greatest, *least};
}

}  // namespace

void TickColumns::add(const nlohmann::json& tick) {
  for (const auto& [name, value] : tick.items()) {
    if (value.is_number()) {
      set(name, value.get<double>());
    } else if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        const nlohmann::json& number =
            inner.is_object() && inner.contains("seconds") ? inner["seconds"] : inner;
        if (number.is_number()) {
          set(fmt::format("{}.{}", name, key), number.get<double>());
        }
      }
    }
  }
  ++size_;
  for (auto& [name, column] : columns_) {
    column.resize(size_, kNothing);
  }
}

void TickColumns::set(const std::string& name, double value) {
  auto found = std::ranges::find(columns_, name, &std::pair<std::string, Column>::first);
  if (found == columns_.end()) {
    columns_.emplace_back(name, Column(size_, kNothing));
    found = columns_.end() - 1;
  }
  found->second.push_back(value);
}

void TickColumns::clear() {
  columns_.clear();
  size_ = 0;
}

const TickColumns::Column* TickColumns::find(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name, &std::pair<std::string, Column>::first);
  return found == columns_.end() ? nullptr : &found->second;
}

std::optional<double> TickColumns::last(std::string_view name) const {
  const Column* column = find(name);
  if (column == nullptr || column->empty() || !std::isfinite(column->back())) {
    return std::nullopt;
  }
  return column->back();
}

std::optional<double> TickColumns::recent_mean(std::string_view name, std::size_t count) const {
  const Column* column = find(name);
  if (column == nullptr) {
    return std::nullopt;
  }
  double sum = 0.0;
  std::size_t num = 0;
  const std::span<const double> all(*column);
  for (const double value : all.last(std::min(count, all.size()))) {
    if (std::isfinite(value)) {
      sum += value;
      ++num;
    }
  }
  return num == 0 ? std::nullopt : std::optional(sum / static_cast<double>(num));
}

nlohmann::ordered_json TickColumns::json(std::size_t most) const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  const std::size_t num_groups = std::max<std::size_t>(1, most / 2);
  for (const auto& [name, column] : columns_) {
    const bool is_time = name == "unix_seconds";
    auto list = nlohmann::ordered_json::array();
    if (size_ <= most) {
      for (const double value : column) {
        list.push_back(short_number(value, is_time));
      }
    } else {
      for (std::size_t group = 0; group < num_groups; ++group) {
        const std::size_t begin = group * size_ / num_groups;
        const std::size_t end = (group + 1) * size_ / num_groups;
        const auto [first, second] =
            extremes(std::span<const double>(column).subspan(begin, end - begin));
        list.push_back(short_number(first, is_time));
        list.push_back(short_number(second, is_time));
      }
    }
    object[name] = std::move(list);
  }
  return object;
}

}  // namespace gangway::report
