// SPDX-License-Identifier: MIT
// Sends LibTorch's warnings to the program's log instead of the terminal, each one once. Created by
// the main() of a worker and of gangway-model.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <c10/util/Exception.h>

#include "base/guarded.hpp"

namespace gangway::gan {

/// Drops warnings, as that of a replaced kernel.
class Silent : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

/// LibTorch keeps one handler a thread, so each computing thread must first call listen(). Warnings
/// of autograd's threads reach the thread that waits for them.
class LibraryWarnings : public c10::WarningHandler {
 public:
  using Tell = std::function<void(const std::string& line)>;

  /// @param tell  called on any thread; null: warnings are kept until tell_to()
  explicit LibraryWarnings(Tell tell = {}) : tell_(std::move(tell)) {}
  LibraryWarnings(const LibraryWarnings&) = delete;
  LibraryWarnings& operator=(const LibraryWarnings&) = delete;
  /// Call on the thread that created it, after the other listening threads have ended.
  ~LibraryWarnings() override;

  /// Makes this the handler of the calling thread.
  void listen();
  /// Sends all further warnings to `tell`, after those kept so far. Any thread.
  void tell_to(Tell tell);

  void process(const c10::Warning& warning) override;

 private:
  Mutex mutex_;
  Tell tell_ GANGWAY_GUARDED_BY(mutex_);
  std::set<std::string> known_ GANGWAY_GUARDED_BY(mutex_);
  std::set<std::string> queued_lines_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway::gan
