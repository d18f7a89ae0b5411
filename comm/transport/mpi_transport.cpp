// SPDX-License-Identifier: MIT
#include "comm/transport/mpi_transport.hpp"

#include <array>

#include <fmt/format.h>
#include <sched.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"
#include "comm/transport/segments.hpp"

namespace gangway::comm {
namespace {

constexpr int kPumpEvery = 64;  // polls

int rank_of_peer(int peer) { return rank_of(WorkerIndex(peer)).value(); }

void check(int code, const char* what, int peer) {
  if (code != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw PeerError(WorkerIndex(peer), fmt::format("{} with rank {} failed: {}", what,
                                                   rank_of_peer(peer), text.data()));
  }
}

/// Whether the kind is large and not urgent. Tensors, norms and pictures are urgent.
bool is_bulk(MessageKind kind) {
  return kind == MessageKind::kPartial || kind == MessageKind::kWeights ||
         kind == MessageKind::kState;
}

}  // namespace

MpiTransport::MpiTransport(const MpiSession& session, std::int64_t epoch,
                           std::function<void()> pump)
    : session_(session),
      epoch_(epoch),
      pump_(std::move(pump)),
      bulk_(static_cast<std::size_t>(session.size())) {}

RequestId MpiTransport::start(const Operation& operation) {
  if (free_.empty()) {
    operations_.push_back(operation);
    free_.reserve(operations_.capacity());
    return operations_.size() - 1;
  }
  const RequestId request = free_.back();
  free_.pop_back();
  operations_[request] = operation;
  return request;
}

std::size_t MpiTransport::add_segment(Operation& operation, std::size_t last, std::size_t bytes) {
  if (free_segments_.empty()) {
    segments_.emplace_back();
    free_segments_.reserve(segments_.capacity());
    free_segments_.push_back(segments_.size() - 1);
  }
  const std::size_t segment = free_segments_.back();
  free_segments_.pop_back();
  segments_[segment] = {.bytes = bytes};
  (last == kNone ? operation.segment : segments_[last].next) = segment;
  return segment;
}

void MpiTransport::drop_segment(Operation& operation) {
  free_segments_.push_back(operation.segment);
  operation.segment = segments_[operation.segment].next;
}

RequestId MpiTransport::start_send(int peer, MessageTag tag, std::span<const std::byte> bytes) {
  Operation operation{
      .peer = peer, .tag = tag.packed(), .is_bounded = window_ > 0 && is_bulk(tag.kind)};
  std::size_t segment = kNone;
  for (std::size_t i = 0; i < num_segments(bytes.size()); ++i) {
    const std::size_t begin = segment_begin(bytes.size(), i);
    const std::size_t size = segment_begin(bytes.size(), i + 1) - begin;
    segment = add_segment(operation, segment, size);
    segments_[segment].data = bytes.data() + begin;
    if (!operation.is_bounded) {
      tell(operation, segments_[segment]);
    }
  }
  count_sent(tag, bytes.size());
  if (!operation.is_bounded) {
    return start(operation);
  }
  operation.unsent = operation.segment;
  const RequestId request = start(operation);
  enqueue(request);
  send_bulk(peer);
  return request;
}

void MpiTransport::tell(const Operation& operation, Segment& segment) {
  check(MPI_Isend(segment.data, static_cast<int>(segment.bytes), MPI_BYTE,
                  rank_of_peer(operation.peer), operation.tag, session_.communicator(),
                  &segment.request),
        "MPI_Isend", operation.peer);
}

void MpiTransport::enqueue(RequestId request) {
  Bulk& way = bulk(operations_[request].peer);
  (way.first == kNone ? way.first : operations_[way.last].next) = request;
  way.last = request;
}

void MpiTransport::send_bulk(int peer) {
  Bulk& way = bulk(peer);
  for (; way.first != kNone; way.first = operations_[way.first].next) {
    Operation& operation = operations_[way.first];
    for (; operation.unsent != kNone; operation.unsent = segments_[operation.unsent].next) {
      Segment& segment = segments_[operation.unsent];
      if (way.under_way > 0 && way.under_way + segment.bytes > window_) {
        return;
      }
      tell(operation, segment);
      way.under_way += segment.bytes;
    }
  }
}

void MpiTransport::left(const Operation& operation, std::size_t bytes) {
  if (operation.is_bounded) {
    bulk(operation.peer).under_way -= bytes;
  }
}

RequestId MpiTransport::start_receive(int peer, MessageTag tag, std::span<std::byte> bytes) {
  Operation operation{.peer = peer, .receives = true};
  std::size_t segment = kNone;
  for (std::size_t i = 0; i < num_segments(bytes.size()); ++i) {
    const std::size_t begin = segment_begin(bytes.size(), i);
    const std::size_t size = segment_begin(bytes.size(), i + 1) - begin;
    segment = add_segment(operation, segment, size);
    check(MPI_Irecv(bytes.data() + begin, static_cast<int>(size), MPI_BYTE, rank_of_peer(peer),
                    tag.packed(), session_.communicator(), &segments_[segment].request),
          "MPI_Irecv", peer);
  }
  return start(operation);
}

RequestId MpiTransport::start_receive_up_to(int peer, MessageTag tag, std::span<std::byte> bytes) {
  Operation operation{.peer = peer, .receives = true, .may_be_shorter = true};
  const std::size_t segment = add_segment(operation, kNone, bytes.size());
  check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank_of_peer(peer),
                  tag.packed(), session_.communicator(), &segments_[segment].request),
        "MPI_Irecv", peer);
  return start(operation);
}

bool MpiTransport::done(RequestId request) {
  Operation& operation = operations_[request];
  if (!operation.active) {
    return true;
  }
  while (operation.segment != kNone) {
    if (operation.segment == operation.unsent) {
      send_bulk(operation.peer);
      if (operation.segment == operation.unsent) {
        return false;
      }
    }
    Segment& segment = segments_[operation.segment];
    int finished = 0;
    MPI_Status status{};
    const int code = MPI_Test(&segment.request, &finished, &status);
    if (code == MPI_SUCCESS && finished == 0) {
      return false;
    }
    const int peer = operation.peer;
    int received = static_cast<int>(segment.bytes);
    if (code == MPI_SUCCESS && operation.receives && !operation.may_be_shorter) {
      MPI_Get_count(&status, MPI_BYTE, &received);
    }
    const std::size_t expected = segment.bytes;
    drop_segment(operation);
    left(operation, expected);
    if (operation.is_bounded && code == MPI_SUCCESS) {
      send_bulk(operation.peer);
    }
    if (code != MPI_SUCCESS || static_cast<std::size_t>(received) != expected) {
      forget(request);
      check(code, "a message", peer);
      throw CommError(
          fmt::format("rank {}: rank {} sent {} bytes where {} were expected; were the workers "
                      "built from one job?",
                      rank_of(own_number()), rank_of_peer(peer), received, expected));
    }
  }
  operation.active = false;
  free_.push_back(request);
  idle_polls_ = 0;
  return true;
}

void MpiTransport::withdraw(RequestId request) {
  Bulk& way = bulk(operations_[request].peer);
  std::size_t before = kNone;
  for (std::size_t at = way.first; at != kNone; at = operations_[at].next) {
    if (at == request) {
      (before == kNone ? way.first : operations_[before].next) = operations_[at].next;
      way.last = way.last == at ? before : way.last;
      return;
    }
    before = at;
  }
}

void MpiTransport::forget(RequestId request) {
  Operation& operation = operations_[request];
  bool is_told = true;
  while (operation.segment != kNone) {
    Segment& segment = segments_[operation.segment];
    is_told = is_told && operation.segment != operation.unsent;
    if (is_told && operation.receives) {
      (void)MPI_Cancel(&segment.request);  // MPI must not write into memory that is given up
    }
    if (is_told) {
      (void)MPI_Request_free(&segment.request);
      left(operation, segment.bytes);
    }
    drop_segment(operation);
  }
  if (operation.is_bounded) {
    withdraw(request);
  }
  operation.active = false;
  free_.push_back(request);
}

void MpiTransport::idle() {
  if (++idle_polls_ % kPumpEvery == 0) {
    pump_();
  }
  (void)sched_yield();  // on a shared core the lane must let a peer compute
}

}  // namespace gangway::comm
