// SPDX-License-Identifier: MIT
// A process of the user's Python that reads examples (gan/data/own/reader.py). Begun by PythonData
// on the thread that lives longest: it ends with that thread, whatever it is in the midst of. Used
// by one thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "gan/data/named/named_batch.hpp"
#include "job/blocks/python_spec.hpp"

namespace gangway::data {

/// The kernel, or a person, has killed the process: another one reads the same.
class ReaderKilled : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// It takes longer than it may, and was ended: another one may find a disk that is quicker.
class ReaderLate : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

class ReaderProcess {
 public:
  /// What it says of the data set.
  struct Description {
    std::int64_t size = 0;
    std::int64_t classes = 0;  ///< 0: it does not say
    std::string fingerprint;   ///< of its own, if it has one
    bool collates = false;     ///< whether it puts micro-batches together itself
  };

  /// Starts it, and does not wait. @param executable  of the environment
  /// @throws ConfigError, EnvironmentError: files that are not there, or not the job's, or that
  /// others can write to; no process can be started
  ReaderProcess(const PythonSpec& spec, const std::string& executable);
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// Waits until the class has made its object. @param on_wait  called about every second
  /// where it takes long
  /// @throws ConfigError of one line: what the user's file raises
  [[nodiscard]] Description describe(const std::function<void()>& on_wait);
  /// From now on compares examples with their hashes in `file`, which is made where it is not
  /// there. @throws as read
  void remember_in(const std::string& file, std::chrono::milliseconds deadline);
  /// @throws ConfigError of one line, as describe; that it takes longer than `deadline`, or has
  /// ended
  void read(std::span<const SeededExample> examples, NamedBatch& out,
            std::chrono::milliseconds deadline);

 private:
  void write_all(std::string_view text);
  [[nodiscard]] nlohmann::json answer(std::chrono::milliseconds deadline,
                                      const std::function<void()>& on_wait);
  [[noreturn]] void refuse(const std::string& what) const;
  /// With the class that it is about.
  [[nodiscard]] std::string line_of(const std::string& what) const;
  /// Why nothing more comes from it.
  [[noreturn]] void refuse_end();

  PythonSpec spec_;
  FileDescriptor requests_;
  FileDescriptor answers_;
  FileDescriptor memory_;
  std::string unread_;  // of answers_, behind the last line
  pid_t process_ = -1;
};

}  // namespace gangway::data
