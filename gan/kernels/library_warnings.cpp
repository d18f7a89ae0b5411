// SPDX-License-Identifier: MIT
#include "gan/kernels/library_warnings.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace gangway::gan {
namespace {

/// Returns one line, e.g. "LibTorch warns: old layout (Convolution.cpp:120)".
std::string line_of(const c10::Warning& warning) {
  std::string text = warning.msg();
  text.erase(text.find_last_not_of(" \n") + 1);
  std::ranges::replace(text, '\n', ' ');
  const auto& place = warning.source_location();
  const std::string_view file = place.file == nullptr ? "" : place.file;
  return fmt::format("LibTorch warns: {} ({}:{})", text, file.substr(file.rfind('/') + 1),
                     place.line);
}

}  // namespace

LibraryWarnings::~LibraryWarnings() {
  if (c10::WarningUtils::get_warning_handler() == this) {
    c10::WarningUtils::set_warning_handler(nullptr);
  }
}

void LibraryWarnings::listen() { c10::WarningUtils::set_warning_handler(this); }

void LibraryWarnings::tell_to(Tell tell) {
  const MutexLock lock(mutex_);
  tell_ = std::move(tell);
  for (const std::string& line :
       tell_ ? std::exchange(queued_lines_, {}) : std::set<std::string>()) {
    tell_(line);
  }
}

void LibraryWarnings::process(const c10::Warning& warning) {
  const std::string line = line_of(warning);
  const MutexLock lock(mutex_);
  if (!known_.insert(line).second) {
    return;
  }
  if (tell_) {
    tell_(line);
  } else {
    queued_lines_.insert(line);
  }
}

}  // namespace gangway::gan
