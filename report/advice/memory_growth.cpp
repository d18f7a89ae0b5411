// SPDX-License-Identifier: MIT
#include "report/advice/memory_growth.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "run/json_members.hpp"

namespace gangway::report {
namespace {

constexpr std::size_t kParts = 4;
constexpr std::size_t kTicksOfAPart = 2;
constexpr double kHour = 3600.0;

}  // namespace

void MemoryGrowth::add(const nlohmann::json& tick) {
  const bool is_of_gpu = tick.contains("memory_limit") && tick["memory_limit"] == "GPU";
  const Moment moment{.seconds = number_in(tick, "seconds_total"),
                      .own_gib = number_in(tick, is_of_gpu ? "allocated_gib" : "resident_gib"),
                      .used_gib = number_in(tick, "memory_used_gib")};
  if (moment.used_gib <= 0.0) {
    return;
  }
  moments_.push_back(moment);
  if (moments_.size() > kParts * kTicksOfAPart) {
    moments_.pop_front();
  }
}

double MemoryGrowth::gib_per_hour() const {
  if (moments_.size() < kParts * kTicksOfAPart) {
    return 0.0;
  }
  const auto mean = [&](std::size_t part, double Moment::*of) {
    double sum = 0.0;
    for (std::size_t i = 0; i < kTicksOfAPart; ++i) {
      sum += moments_[part * kTicksOfAPart + i].*of;
    }
    return sum / kTicksOfAPart;
  };
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t part = 1; part < kParts; ++part) {
    const double seconds = mean(part, &Moment::seconds) - mean(part - 1, &Moment::seconds);
    for (const auto of : {&Moment::own_gib, &Moment::used_gib}) {
      const double grown = mean(part, of) - mean(part - 1, of);
      slowest = std::min(slowest, seconds > 0.0 ? kHour * grown / seconds : 0.0);
    }
  }
  return std::max(0.0, slowest);
}

}  // namespace gangway::report
