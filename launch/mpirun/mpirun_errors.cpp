// SPDX-License-Identifier: MIT
#include "launch/mpirun/mpirun_errors.hpp"

#include <algorithm>
#include <array>
#include <iostream>

#include "run/unrecorded_end.hpp"

namespace gangway::launch {
namespace {

// Harmless messages of Open MPI 4.1 about a lost rank or a signal, which the coordinator reports
// better.
constexpr std::array<std::string_view, 3> kNoise = {
    "PMIX ERROR: BAD-PARAM", "PMIX ERROR: UNREACHABLE", "mpirun: Forwarding signal"};

}  // namespace

void MpirunErrors::forward() {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t size = ::read(pipe_.get(), bytes.data(), bytes.size());
    if (size == 0) {
      pipe_.reset();  // poll() would report the closed end forever
    }
    if (size <= 0) {
      return;
    }
    rest_.append(bytes.data(), static_cast<std::size_t>(size));
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      forward_line(std::string_view(rest_).substr(0, end + 1));
      rest_.erase(0, end + 1);
    }
  }
}

void MpirunErrors::finish() {
  forward();
  if (!is_muted_) {
    std::cerr << rest_ << std::flush;
  }
  rest_.clear();
}

void MpirunErrors::forward_line(std::string_view line) {
  if (const auto code = unrecorded_exit_code(line)) {
    unrecorded_ = code;
  }
  const bool is_noise = std::ranges::any_of(
      kNoise, [&](std::string_view noise) { return line.find(noise) != std::string_view::npos; });
  if (!is_muted_ && !is_noise) {
    std::cerr << line << std::flush;
  }
}

}  // namespace gangway::launch
