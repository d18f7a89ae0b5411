// SPDX-License-Identifier: MIT
#include "launch/process/measuring_progress.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "report/tick.hpp"

namespace gangway::launch {
namespace {

constexpr double kBetweenLines = 0.1;  // fraction of all work: keeps logs short
constexpr std::chrono::milliseconds kBetweenDrawings{200};

}  // namespace

MeasuringProgress::MeasuringProgress(std::ostream& out, int columns, double total, Clock clock)
    : out_(out), clock_(std::move(clock)), total_(total), begin_(clock_()), shown_at_(begin_) {
  if (columns > 0) {
    bar_.emplace(out_, columns);
  }
}

void MeasuringProgress::finish() {
  if (bar_) {
    bar_->clear();
  }
}

void MeasuringProgress::advance(double units, const std::string& next) {
  advance_to(done_ + units, next);
}

void MeasuringProgress::advance_to(double units, const std::string& next) {
  done_ = std::max(done_, units);
  const double share = total_ > 0.0 ? std::clamp(done_ / total_, 0.0, 1.0) : 1.0;
  const auto now = clock_();
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::string left =
      share > 0.0 ? fmt::format(", {} left", report::format_duration(seconds * (1.0 / share - 1.0)))
                  : "";
  if (bar_) {
    if (shown_ < 0.0 || now - shown_at_ >= kBetweenDrawings) {
      bar_->draw(share, next + left);
      shown_at_ = now;
      shown_ = share;
    }
  } else if (shown_ < 0.0 || share >= shown_ + kBetweenLines) {
    out_ << fmt::format("measures {:3.0f} %: {}{}\n", 100.0 * share, next, left) << std::flush;
    shown_ = share;
  }
}

}  // namespace gangway::launch
