// SPDX-License-Identifier: MIT
// Who watches a job: a stream of replies each, with a bounded queue. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include <grpcpp/support/server_callback.h>

#include "base/guarded.hpp"
#include "run/control/control.pb.h"

namespace gangway::coordinator {

class Watchers;

/// One stream; gRPC ends its life.
class Watcher : public grpc::ServerWriteReactor<control::v1::WatchReply> {
 public:
  static constexpr std::size_t kMostWaiting = 256;

  /// @param watchers  outlives it
  Watcher(Watchers& watchers, std::uint64_t number) : watchers_(watchers), number_(number) {}

  /// Behind what waits; dropped, and counted, where too much does.
  void push(const control::v1::WatchReply& reply);
  /// No more is pushed: ends with `status` when what waits has been read.
  void end(const grpc::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void go_on() GANGWAY_REQUIRES(mutex_);

  Watchers& watchers_;
  std::uint64_t number_;
  Mutex mutex_;
  std::deque<control::v1::WatchReply> waiting_ GANGWAY_GUARDED_BY(mutex_);
  control::v1::WatchReply writing_ GANGWAY_GUARDED_BY(mutex_);
  std::uint64_t missed_ GANGWAY_GUARDED_BY(mutex_) = 0;
  std::optional<grpc::Status> ending_ GANGWAY_GUARDED_BY(mutex_);
  bool is_writing_ GANGWAY_GUARDED_BY(mutex_) = false;
  bool is_finished_ GANGWAY_GUARDED_BY(mutex_) = false;
};

class Watchers {
 public:
  static constexpr std::size_t kMost = 64;

  struct Added {
    std::uint64_t number = 0;
    Watcher* stream = nullptr;  ///< never null; it has ended already where there are too many
  };
  /// @param admitted  where it is not OK, the stream ends with it, and takes nobody's place
  [[nodiscard]] Added add(const grpc::Status& admitted);
  /// The first reply of one, if it is still there: from here on it has those of all.
  void begin(std::uint64_t number, const control::v1::WatchReply& reply);
  void push(const control::v1::WatchReply& reply);
  void end_all(const grpc::Status& status);
  void remove(std::uint64_t number);
  [[nodiscard]] bool empty() const;

 private:
  struct Stream {
    Watcher* watcher = nullptr;
    bool has_begun = false;
  };

  mutable Mutex mutex_;
  std::map<std::uint64_t, Stream> streams_ GANGWAY_GUARDED_BY(mutex_);
  std::uint64_t next_ GANGWAY_GUARDED_BY(mutex_) = 1;
  bool is_closed_ GANGWAY_GUARDED_BY(mutex_) = false;
};

}  // namespace gangway::coordinator
