// SPDX-License-Identifier: MIT
// A process of the user's Python that reads examples (python/examples/reader.py). PythonData starts
// it on the longest-living thread because the process is killed when that thread ends. Used by one
// thread at a time.
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
#include "data/named/named_batch.hpp"
#include "job/blocks/python_spec.hpp"

namespace gangway::python {

/// The process was killed; a new one reads the same.
class ReaderKilled : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// The process exceeded its deadline and was ended; a new one may find a faster disk.
class ReaderLate : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

class ReaderProcess {
 public:
  /// The process's description of the data set.
  struct Description {
    std::int64_t size = 0;
    std::int64_t classes = 0;  ///< 0: unknown
    std::string fingerprint;   ///< given by the user's class, or empty
    bool collates = false;     ///< whether the user's class assembles micro-batches
  };

  /// Starts the process without waiting. @param executable  Python of the environment
  /// @throws ConfigError, EnvironmentError: files that are missing, not the job's or writable by
  /// others; no process can be started
  ReaderProcess(const PythonSpec& spec, const std::string& executable);
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// Waits until the user's object is constructed.
  /// @param on_wait  called about every second of waiting
  /// @throws ConfigError of one line: the exception of the user's file
  [[nodiscard]] Description describe(const std::function<void()>& on_wait);
  /// Compares further examples with their hashes in `file`, which is created if missing. @throws as
  /// read
  void remember_in(const std::string& file, std::chrono::milliseconds deadline);
  /// @throws ConfigError as describe, or if the process has ended; ReaderLate past `deadline`;
  /// ReaderKilled
  void read(std::span<const data::SeededExample> examples, data::NamedBatch& out,
            std::chrono::milliseconds deadline);

 private:
  void write_all(std::string_view text);
  [[nodiscard]] nlohmann::json answer(std::chrono::milliseconds deadline,
                                      const std::function<void()>& on_wait);
  [[noreturn]] void refuse(const std::string& what) const;
  /// Returns a message that names the user's class.
  [[nodiscard]] std::string line_of(const std::string& what) const;
  /// Throws the reason why the process has ended.
  [[noreturn]] void refuse_end();

  PythonSpec spec_;
  FileDescriptor requests_;
  FileDescriptor answers_;
  FileDescriptor memory_;
  std::string unread_;  // text after the last line of answers_
  pid_t process_ = -1;
};

}  // namespace gangway::python
