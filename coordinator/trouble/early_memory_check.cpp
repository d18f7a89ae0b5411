// SPDX-License-Identifier: MIT
#include "coordinator/trouble/early_memory_check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.hpp"
#include "job/estimate/memory_ladder.hpp"

namespace gangway::coordinator {
namespace {

/// Number of first steps, which run all lazy regularisers and the libraries' one-time allocations.
constexpr std::int64_t kSteps = 3;

double left_to(std::uint64_t peak, std::uint64_t now) {
  return static_cast<double>(peak - std::min(now, peak));
}

}  // namespace

double EarlyMemoryCheck::bytes_to_come(const MemoryReport& worker) const {
  const messages::MemoryFigures& own = worker.figures;
  if (own.limit == "GPU") {
    return left_to(own.peak_bytes, own.reserved_bytes);
  }
  double sum = 0.0;
  for (const auto& [rank, other] : workers_) {
    if (other.host == worker.host && !other.computes_on_gpu) {  // a GPU worker's peak is GPU memory
      sum += left_to(other.figures.peak_bytes, other.figures.resident_bytes);
    }
  }
  return sum;
}

std::string EarlyMemoryCheck::look(std::int64_t steps, const std::function<std::string()>& rung) {
  if (is_over_ || steps < kSteps || steps == looked_at_) {
    return {};
  }
  looked_at_ = steps;
  const MemoryReport* fullest = nullptr;
  double most = kMostOfMemory;
  for (const auto& [rank, worker] : workers_) {
    const auto limit = static_cast<double>(worker.figures.limit_bytes);
    const double used = static_cast<double>(worker.figures.used_bytes) + bytes_to_come(worker);
    if (limit > 0.0 && used / limit > most) {
      most = used / limit;
      fullest = &worker;
    }
  }
  if (fullest == nullptr) {
    return {};
  }
  is_over_ = true;
  return fmt::format(
      "warn  memory peak {:.0f} % of the limit {:.1f} GiB ({} of {}) after {} steps: {} "
      "(docs/memory.md)",
      100.0 * most, static_cast<double>(fullest->figures.limit_bytes) / kGibibyte,
      fullest->figures.limit, fullest->host, steps, rung());
}

}  // namespace gangway::coordinator
