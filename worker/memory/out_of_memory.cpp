// SPDX-License-Identifier: MIT
#include "worker/memory/out_of_memory.hpp"

#include <memory>
#include <new>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include "job/estimate/memory_ladder.hpp"

namespace gangway::worker {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

/// Wraps LibTorch's allocator and records failures; returns the same memory.
class WatchedAllocator final : public c10::Allocator {
 public:
  explicit WatchedAllocator(c10::Allocator& inner) : inner_(inner) {}
  c10::DataPtr allocate(std::size_t bytes) override {
    try {
      return inner_.allocate(bytes);
    } catch (...) {  // it fails only for lack of memory
      requests_.add(bytes);
      throw;
    }
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    inner_.copy_data(to, from, bytes);
  }
  [[nodiscard]] const FailedRequests& requests() const { return requests_; }

 private:
  c10::Allocator& inner_;
  FailedRequests requests_;
};

/// Returns the peak of resident memory since the process began.
double resident_mebibytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) / 1024.0
                                               : 0.0;
}

/// "a request of 512.0 MiB failed"; a GPU's allocator says more, in its first line.
std::string failed_request(const std::exception& error, const FailedRequests& requests) {
  if (const auto* cuda = dynamic_cast<const c10::OutOfMemoryError*>(&error)) {
    const std::string words = cuda->what_without_backtrace();
    return words.substr(0, words.find('\n'));
  }
  return requests.largest() == 0 ? std::string("a small request failed")
                                 : fmt::format("a request of {:.1f} MiB failed",
                                               static_cast<double>(requests.largest()) / kMebibyte);
}

}  // namespace

void FailedRequests::add(std::size_t bytes) noexcept {
  std::size_t before = largest_;
  while (before < bytes && !largest_.compare_exchange_weak(before, bytes)) {
  }
}

const FailedRequests& watch_requests() {
  auto allocator = std::make_unique<WatchedAllocator>(*c10::GetCPUAllocator());
  const FailedRequests& requests = allocator->requests();
  constexpr std::uint8_t kAboveLibTorch = 1;
  c10::SetCPUAllocator(allocator.release(), kAboveLibTorch);  // LibTorch keeps it until exit
  return requests;
}

std::optional<std::string> out_of_memory(const std::exception& error,
                                         const FailedRequests& requests, const Job& job,
                                         const Layout& layout) {
  const bool is_short = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                        dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                        requests.largest() > 0;
  if (!is_short) {
    return std::nullopt;
  }
  const std::vector<std::string> inexact = inexact_rungs(job);
  return fmt::format(
      "out of memory with {:.0f} MiB resident: {}; no bit changes with {}{} "
      "(docs/memory.md)",
      resident_mebibytes(), failed_request(error, requests), next_exact_rung(job, layout),
      inexact.empty() ? "" : fmt::format("; numbers do with {}", fmt::join(inexact, ", or ")));
}

}  // namespace gangway::worker
