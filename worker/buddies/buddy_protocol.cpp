// SPDX-License-Identifier: MIT
#include "worker/buddies/buddy_protocol.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::worker {
namespace {

using checkpoint::PieceHash;

/// Tries per snapshot; after that the network or memory is suspect, and the older copy stays.
constexpr int kMostTries = 3;

enum Part : int { kHeaderPart = 0, kBytesPart = 1, kAnswerPart = 2 };

comm::MessageTag tag_of(const comm::Transport& transport, Part part) {
  // Bucket 1 separates these tags from a start's streams (comm/transport/byte_streams.cpp).
  return {transport.epoch(), 0, comm::MessageKind::kState, 1, part};
}

template <typename Message>
std::span<std::byte> bytes_of(Message& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace

void PieceCursor::take(std::size_t bytes,
                       const std::function<void(std::size_t, std::size_t, std::size_t)>& use) {
  while (bytes > 0 && !is_at_end()) {
    const std::size_t part = std::min(bytes, (*pieces_)[piece_].bytes() - offset_);
    use(piece_, offset_, part);
    bytes -= part;
    offset_ += part;
    if (offset_ == (*pieces_)[piece_].bytes()) {
      ++piece_;
      offset_ = 0;
    }
  }
}

CopySender::CopySender(comm::Transport& transport, int buddy, checkpoint::SnapshotMemory& memory,
                       std::function<void(const std::string&)> say,
                       std::function<Clock::time_point()> now)
    : transport_(transport),
      buddy_(buddy),
      memory_(memory),
      say_(std::move(say)),
      now_(std::move(now)),
      cursor_(memory.pieces()) {
  buffer_.reserve(std::max(kCopyChunk, memory.pieces().size() * sizeof(PieceHash)));
}

void CopySender::want(std::int64_t step) {
  // Drops a request during a copy; the coordinator asks for the next when all have tried this.
  if (current_ && !is_copied_) {
    tried_ = step;
    return;
  }
  current_.reset();
  if (auto snapshot = memory_.pin(step)) {
    current_.emplace(std::move(*snapshot));
    tries_ = 0;
    restart();
  } else {
    tried_ = step;
  }
}

void CopySender::release(std::int64_t step) {
  if (current_ && is_copied_ && current_->id().step <= step) {
    current_.reset();
  }
}

void CopySender::restart() {
  cursor_.reset();
  is_copied_ = has_begun_ = false;
}

bool CopySender::poll_open() {
  std::erase_if(open_, [this](comm::RequestId request) { return transport_.done(request); });
  return open_.empty();
}

bool CopySender::advance(bool is_quiet) {
  if (!poll_open() || has_said_bye_) {
    return false;
  }
  if (answering_) {
    return transport_.done(*answering_) && take_answer();
  }
  if (is_closing_) {
    send(CopyHeader::kBye, 0);
    has_said_bye_ = true;
    return true;
  }
  const bool may_send =
      !is_amid_data() || now_() - last_data_ >= (is_quiet ? kCopyPace : kCopyPatience);
  if (!current_ || is_copied_ || !may_send) {
    return false;
  }
  send_next();
  return true;
}

void CopySender::send_next() {
  buffer_.clear();
  if (!has_begun_) {
    has_begun_ = true;
    send(CopyHeader::kBegin, 0);
    return;
  }
  cursor_.take(kCopyChunk, [&](std::size_t piece, std::size_t offset, std::size_t bytes) {
    const auto part = current_->bytes(piece).subspan(offset, bytes);
    buffer_.insert(buffer_.end(), part.begin(), part.end());
  });
  if (!buffer_.empty()) {
    send(CopyHeader::kData, buffer_.size());
    return;
  }
  for (std::size_t piece = 0; piece < memory_.pieces().size(); ++piece) {
    PieceHash hash = current_->hash(piece);
    const auto bytes = bytes_of(hash);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  send(CopyHeader::kHashes, buffer_.size());
  answering_ = transport_.start_receive(buddy_, tag_of(transport_, kAnswerPart), bytes_of(answer_));
}

void CopySender::send(CopyHeader::Kind kind, std::size_t bytes) {
  header_ = {.kind = kind, .bytes = bytes};
  if (current_) {
    header_.step = current_->id().step;
    header_.incarnation = current_->id().incarnation;
    header_.epoch = current_->id().epoch;
  }
  open_.push_back(
      transport_.start_send(buddy_, tag_of(transport_, kHeaderPart), bytes_of(header_)));
  if (bytes > 0) {
    open_.push_back(transport_.start_send(buddy_, tag_of(transport_, kBytesPart), buffer_));
  }
  if (kind == CopyHeader::kData) {
    last_data_ = now_();
  }
}

bool CopySender::take_answer() {
  answering_.reset();
  const std::int64_t step = current_->id().step;
  if (answer_.kind == CopyAnswer::kDamaged && ++tries_ < kMostTries) {
    say_(
        fmt::format("the copy of the snapshot of step {} arrived damaged at rank {}: refused, "
                    "and sent again",
                    step, rank_of(transport_.number_of(buddy_))));
    restart();
    return true;
  }
  tried_ = step;
  if (answer_.kind == CopyAnswer::kHeld) {
    copied_ = step;
    is_copied_ = true;  // kept until all workers have theirs
    return true;
  }
  say_(fmt::format("the snapshot of step {} is not copied to rank {}: {}", step,
                   rank_of(transport_.number_of(buddy_)),
                   answer_.kind == CopyAnswer::kDamaged
                       ? fmt::format("it arrived damaged {} times; test the network and the "
                                     "memory of its host",
                                     tries_)
                       : "it has no room"));
  current_.reset();
  return true;
}

CopyReceiver::CopyReceiver(comm::Transport& transport, int owner,
                           checkpoint::SnapshotMemory& memory)
    : transport_(transport),
      owner_(owner),
      memory_(memory),
      cursor_(memory.pieces()),
      buffer_(std::max(kCopyChunk, memory.pieces().size() * sizeof(PieceHash))) {}

bool CopyReceiver::advance() {
  if (answering_ && transport_.done(*answering_)) {
    answering_.reset();
  }
  if (has_ended_ || answering_) {
    return false;
  }
  if (!receiving_) {
    receiving_ =
        transport_.start_receive(owner_, tag_of(transport_, kHeaderPart), bytes_of(header_));
  }
  if (!transport_.done(*receiving_)) {
    return false;
  }
  receiving_.reset();
  if (is_inside_) {
    is_inside_ = false;
    take_bytes();
  } else {
    take_header();
  }
  return true;
}

void CopyReceiver::take_header() {
  switch (header_.kind) {
    case CopyHeader::kBegin:
      cursor_.reset();
      has_room_ = memory_.begin({.step = header_.step,
                                 .incarnation = header_.incarnation,
                                 .epoch = header_.epoch,
                                 .num_workers = transport_.num_workers()});
      return;
    case CopyHeader::kBye:
      memory_.abandon();
      has_ended_ = true;
      return;
    case CopyHeader::kData:
    case CopyHeader::kHashes:
      break;
    default:
      throw CommError(
          fmt::format("rank {} sent no part of a snapshot: start all ranks from one "
                      "build",
                      rank_of(transport_.number_of(owner_))));
  }
  if (header_.bytes > buffer_.size()) {
    throw CommError(
        fmt::format("rank {} announced {} bytes of a snapshot at once: start all "
                    "ranks from one build",
                    rank_of(transport_.number_of(owner_)), header_.bytes));
  }
  if (header_.bytes == 0) {
    take_bytes();
    return;
  }
  is_inside_ = true;
  receiving_ = transport_.start_receive(owner_, tag_of(transport_, kBytesPart),
                                        std::span(buffer_).first(header_.bytes));
}

void CopyReceiver::take_bytes() {
  const std::span<const std::byte> bytes = std::span(buffer_).first(header_.bytes);
  if (header_.kind == CopyHeader::kData) {
    std::size_t at = 0;
    cursor_.take(bytes.size(), [&](std::size_t piece, std::size_t /*offset*/, std::size_t part) {
      if (has_room_) {
        memory_.copy(piece, bytes.subspan(at, part));
      }
      at += part;
    });
    return;
  }
  if (!std::exchange(has_room_, false)) {
    answer(CopyAnswer::kNoRoom);
    return;
  }
  bool is_equal = bytes.size() == memory_.pieces().size() * sizeof(PieceHash);
  for (std::size_t piece = 0; is_equal && piece < memory_.pieces().size(); ++piece) {
    PieceHash sent;
    std::memcpy(&sent, bytes.data() + piece * sizeof sent, sizeof sent);
    is_equal = sent == memory_.hash(piece);
  }
  if (is_equal) {
    memory_.complete();
  } else {
    memory_.abandon();
  }
  answer(is_equal ? CopyAnswer::kHeld : CopyAnswer::kDamaged);
}

void CopyReceiver::answer(CopyAnswer::Kind kind) {
  answer_ = {.kind = kind, .step = header_.step};
  answering_ = transport_.start_send(owner_, tag_of(transport_, kAnswerPart), bytes_of(answer_));
}

}  // namespace gangway::worker
