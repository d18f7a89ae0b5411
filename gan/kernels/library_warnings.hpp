// SPDX-License-Identifier: MIT
// What LibTorch warns of, told where a program's other lines go instead of to the terminal, and
// once each. Made by the main() of a worker and of gangway-model.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <c10/util/Exception.h>

#include "base/guarded.hpp"

namespace gangway::gan {

/// LibTorch asks the handler of the thread that warns: each thread that computes has to begin with
/// listen(). What autograd's own threads warn of comes to the thread that waits for them.
class LibraryWarnings : public c10::WarningHandler {
 public:
  using Tell = std::function<void(const std::string& line)>;

  /// @param tell  any thread; nothing: warnings are kept until tell_to()
  explicit LibraryWarnings(Tell tell = {}) : tell_(std::move(tell)) {}
  LibraryWarnings(const LibraryWarnings&) = delete;
  LibraryWarnings& operator=(const LibraryWarnings&) = delete;
  /// Of the thread that made it. The others that listen have ended before.
  ~LibraryWarnings() override;

  /// Warnings of the calling thread come here from now on.
  void listen();
  /// Receives all warnings from now on, and kept ones first. Any thread.
  void tell_to(Tell tell);

  void process(const c10::Warning& warning) override;

 private:
  Mutex mutex_;
  Tell tell_ GANGWAY_GUARDED_BY(mutex_);
  std::set<std::string> known_ GANGWAY_GUARDED_BY(mutex_);
  std::set<std::string> untold_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway::gan
