// SPDX-License-Identifier: MIT
#include "coordinator/control/watchers.hpp"

#include <utility>

namespace gangway::coordinator {

void Watcher::push(const control::v1::WatchReply& reply) {
  const MutexLock lock(mutex_);
  if (is_finished_ || ending_) {
    return;
  }
  if (waiting_.size() >= kMostWaiting) {
    ++missed_;
    return;
  }
  waiting_.push_back(reply);
  go_on();
}

void Watcher::end(const grpc::Status& status) {
  const MutexLock lock(mutex_);
  if (!ending_) {
    ending_ = status;
  }
  go_on();
}

void Watcher::go_on() {
  if (is_writing_ || is_finished_) {
    return;
  }
  if (!waiting_.empty()) {
    writing_ = std::move(waiting_.front());
    waiting_.pop_front();
  } else if (missed_ > 0) {
    writing_.set_missed(std::exchange(missed_, 0));
  } else {
    if (ending_) {
      is_finished_ = true;
      Finish(*ending_);
    }
    return;
  }
  is_writing_ = true;
  StartWrite(&writing_);
}

void Watcher::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  is_writing_ = false;
  if (!ok) {
    waiting_.clear();
    missed_ = 0;
    ending_ = grpc::Status::CANCELLED;
  }
  go_on();
}

void Watcher::OnCancel() {
  const MutexLock lock(mutex_);
  waiting_.clear();
  missed_ = 0;
  ending_ = grpc::Status::CANCELLED;
  go_on();
}

void Watcher::OnDone() {
  watchers_.remove(number_);
  delete this;
}

Watchers::Added Watchers::add(const grpc::Status& admitted) {
  const MutexLock lock(mutex_);
  const std::uint64_t number = next_++;
  auto* stream = new Watcher(*this, number);  // its OnDone deletes it
  if (!admitted.ok()) {
    stream->end(admitted);
  } else if (is_closed_) {
    stream->end({grpc::StatusCode::UNAVAILABLE, "the job has ended"});
  } else if (streams_.size() >= kMost) {
    stream->end({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch this job: end one"});
  } else {
    streams_.emplace(number, Stream{.watcher = stream});
  }
  return {number, stream};
}

void Watchers::begin(std::uint64_t number, const control::v1::WatchReply& reply) {
  const MutexLock lock(mutex_);
  if (const auto found = streams_.find(number); found != streams_.end()) {
    found->second.has_begun = true;
    found->second.watcher->push(reply);
  }
}

void Watchers::push(const control::v1::WatchReply& reply) {
  const MutexLock lock(mutex_);
  for (const auto& [number, stream] : streams_) {
    if (stream.has_begun) {
      stream.watcher->push(reply);
    }
  }
}

void Watchers::end_all(const grpc::Status& status) {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  for (const auto& [number, stream] : streams_) {
    stream.watcher->end(status);
  }
}

void Watchers::remove(std::uint64_t number) {
  const MutexLock lock(mutex_);
  streams_.erase(number);
}

bool Watchers::empty() const {
  const MutexLock lock(mutex_);
  return streams_.empty();
}

}  // namespace gangway::coordinator
