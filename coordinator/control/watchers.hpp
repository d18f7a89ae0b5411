// SPDX-License-Identifier: MIT
// The watchers of a job: each has a stream of replies with a bounded queue. Any thread.
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

/// One watcher's stream; gRPC ends its lifetime.
class Watcher : public grpc::ServerWriteReactor<control::v1::WatchReply> {
 public:
  static constexpr std::size_t kMostWaiting = 256;

  /// @param watchers  outlives it
  Watcher(Watchers& watchers, std::uint64_t number) : watchers_(watchers), number_(number) {}

  /// Appends a reply to the queue; drops and counts it if the queue is full.
  void push(const control::v1::WatchReply& reply);
  /// Ends the stream with `status` after the queued replies are sent.
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
    Watcher* stream = nullptr;  ///< never null; already ended if there are too many
  };
  /// @param admitted  if not OK, the stream ends with it and takes no watcher's place
  [[nodiscard]] Added add(const grpc::Status& admitted);
  /// Sends the first reply to one stream, if it still exists; from now on it gets every reply.
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
