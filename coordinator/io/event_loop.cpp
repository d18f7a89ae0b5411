// SPDX-License-Identifier: MIT
#include "coordinator/io/event_loop.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/time.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/retention.hpp"
#include "run/control_protocol.hpp"
#include "run/messages/codec.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::steady_clock;

// MPI has no wake-up, so the loop polls: fast while messages arrive, slowly otherwise, to leave the
// cores to the workers.
constexpr std::chrono::microseconds kBusyPoll{200};
constexpr std::chrono::microseconds kQuietPoll{2000};
constexpr std::chrono::milliseconds kBusyFor{5};
// Poll period of a job without messages for long: it is paused, or its steps are long.
constexpr std::chrono::microseconds kSilentPoll{10'000};
constexpr std::chrono::seconds kQuietFor{5};
constexpr std::chrono::milliseconds kStatusPeriod{1000};
// Longest time for messages in one turn. Lifelines, signals and heartbeats get their turn even if
// messages arrive faster than the loop handles them.
constexpr std::chrono::milliseconds kMessages{20};
constexpr std::chrono::milliseconds kLastMessages{500};
// Time for workers to leave after a failure; then workers on this host are killed.
constexpr std::chrono::milliseconds kClosingDeadline{2000};
constexpr std::chrono::milliseconds kLastRemovals{2000};
constexpr std::chrono::seconds kRecordLimit{600};  // for a decision to reach the disk
// Time that a finished job waits for the score of its last checkpoint.
constexpr std::chrono::seconds kLastScore{300};

/// Returns the score's value; lower is better.
std::optional<double> score_value(const ScoreResult& result) {
  if (!result.score) {
    return std::nullopt;
  }
  const bool is_lower_better = result.score->better == checkpoint::Better::kLower;
  return is_lower_better ? result.score->value : -result.score->value;
}

}  // namespace

EventLoop::EventLoop(LoopParts parts, RunCoreSettings settings)
    : parts_(parts), core_(std::move(settings), steady_clock::now()), timer_(parts_.io) {}

RunEnd EventLoop::run() {
  parts_.lifelines.start(
      {.opened =
           [this](Rank rank) { carry_out(core_.on_lifeline_opened(rank, steady_clock::now())); },
       .heartbeat = [this](Rank rank,
                           Pulse pulse) { core_.on_heartbeat(rank, pulse, steady_clock::now()); },
       .keeping = [this](Rank rank) { on_keeping(rank); },
       .dying = [this](Rank rank, int signal) { core_.on_dying(rank, signal); },
       .cut_off = [this](Rank rank) { core_.on_cut_off(rank); },
       .closed =
           [this](Rank rank) {
             // The worker's last messages may hold the reason why it leaves: read them first.
             (void)pump(kLastMessages);
             core_.on_lifeline_closed(rank, steady_clock::now());
           }});
  wait_for_signal();
  parts_.tether.settle();
  parts_.tether.begin_beats();
  poll();
  parts_.io.run();
  next_status_ = {};
  show_status();              // shows the end
  parts_.tether.end_beats();  // the rest may take long
  discard_unfinished();
  return end_;
}

void EventLoop::wait_for_signal() {
  parts_.signals.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) {
      return;
    }
    if (scoring_ends_) {  // all is trained and saved: a signal skips the last score
      scoring_ends_ = steady_clock::now();
    }
    const bool again = signal == SIGINT && leaving_;
    const Request request = signal == SIGUSR2 ? Request::kSaveAndGoOn
                                              : (again ? Request::kEndNow : Request::kSaveAndLeave);
    leaving_ = leaving_ || request == Request::kSaveAndLeave;
    carry_out(core_.on_request(request, signal, steady_clock::now()));
    wait_for_signal();
  });
}

void EventLoop::schedule_poll() {
  const auto silence = steady_clock::now() - last_message_;
  timer_.expires_after(silence < kBusyFor    ? kBusyPoll
                       : silence < kQuietFor ? kQuietPoll
                                             : kSilentPoll);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      poll();
    }
  });
}

void EventLoop::beat() {
  const auto now = steady_clock::now();
  parts_.tether.beat();
  if (now >= next_beat_) {
    next_beat_ = now + kHeartbeatPeriod;
    parts_.lifelines.beat();
  }
}

void EventLoop::show_status() {
  const auto now = steady_clock::now();
  if (parts_.show_status && now >= next_status_) {
    next_status_ = now + kStatusPeriod;
    parts_.show_status(core_.status(now, unix_seconds()));
  }
}

void EventLoop::poll() {
  beat();
  show_status();
  if (pump(kMessages)) {
    last_message_ = steady_clock::now();
  }
  disk_.poll();
  folders_.poll();
  records_.poll();
  give_up_records();
  send_grants();
  poll_scorer();
  carry_out(core_.on_clock(steady_clock::now()));
  if (scoring_ends_ && has_last_score()) {
    scoring_ends_.reset();
    end();
  }
  if (closing_) {
    close_if_all_gone();
  }
  if (!parts_.io.stopped()) {
    schedule_poll();
  }
}

bool EventLoop::pump(std::chrono::milliseconds longest) {
  bool any = false;
  const auto end = steady_clock::now() + longest;
  while (const auto message = parts_.mpi.poll()) {
    any = true;
    const messages::Envelope envelope = messages::decode(message->bytes, message->rank);
    if (closing_ && std::holds_alternative<messages::Goodbye>(envelope.message)) {
      said_goodbye_.insert(message->rank);
    }
    carry_out(core_.on_message(message->rank, envelope, steady_clock::now(), unix_seconds()));
    if (steady_clock::now() >= end) {
      break;
    }
  }
  return any;
}

void EventLoop::carry_out(const Effects& effects) {
  for (const Effect& effect : effects) {
    parts_.watch(effect);
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
}

void EventLoop::carry_out(const SendMessage& send) {
  this->send(send.ranks, core_.membership().epoch(), send.message);
}

void EventLoop::carry_out(const RecordDecisions& record) {
  recording_since_.push_back(steady_clock::now());
  records_.submit([this, decisions = record.decisions,
                   work = parts_.recorder.record_work(record.decisions)]() -> DiskThread::Follow {
    std::string failure;
    try {
      work();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    return [this, decisions, failure] {
      recording_since_.pop_front();
      if (failure.empty() && !core_.ended()) {
        parts_.recorder.recorded(decisions);
      }
      carry_out(failure.empty() ? core_.recorded(steady_clock::now()) : core_.unrecorded(failure));
    };
  });
}

void EventLoop::give_up_records() {
  if (!recording_since_.empty() && steady_clock::now() - recording_since_.front() >= kRecordLimit) {
    carry_out(core_.unrecorded("a decision is not on the disk after 600 s: does it hang?"));
  }
}

void EventLoop::carry_out(const EndJob& end) {
  end_ = end.end;
  if (end_.is(ExitCode::kDone)) {
    scoring_ends_ = steady_clock::now() + kLastScore;
  } else {
    this->end();
  }
}

void EventLoop::send(const std::vector<Rank>& ranks, std::int64_t epoch,
                     const messages::Message& message) {
  parts_.mpi.send(ranks, messages::encode({.epoch = epoch, .message = message}));
}

void EventLoop::carry_out(const ChooseResumePoint& question) {
  parts_.tether.end_beats();  // large checkpoints take long to verify
  try {
    if (!question.refused_checkpoint.empty()) {
      parts_.choice.refuse_checkpoint(question.refused_checkpoint);
    }
    ResumePoint point = parts_.choice.choose(question.inventory);
    if (const auto last = parts_.recorder.begin_at(point.step)) {
      point.first_tick = last->index + 1;
      point.earlier_seconds = last->seconds_total;
    }
    carry_out(core_.begin_with(point));
  } catch (const Error& error) {
    carry_out(core_.cannot_begin(error.code(), error.what()));
  }
  parts_.tether.begin_beats();
}

void EventLoop::carry_out(const GrantLease& grant) {
  HeldGrant& held = grants_.emplace_back(HeldGrant{.epoch = core_.membership().epoch(),
                                                   .lease = grant.lease,
                                                   .is_ready = !grant.checkpoint_step});
  if (grant.checkpoint_step) {
    folders_.submit([this, &held, step = *grant.checkpoint_step,
                     checkpoints = parts_.recorder.checkpoints()]() -> DiskThread::Follow {
      try {
        return [this, &held, step, folder = checkpoint::begin_checkpoint(checkpoints, step)] {
          parts_.recorder.began_checkpoint(step, folder);
          held.lease.checkpoint_directory = folder.string();
          held.is_ready = true;
        };
      } catch (const std::exception& error) {
        return [this, &held, step, reason = std::string(error.what())] {
          held.is_ready = true;  // without a folder no worker writes
          carry_out(core_.checkpoint_failed(step, reason, steady_clock::now()));
        };
      }
    });
  }
  send_grants();
}

void EventLoop::send_grants() {
  while (!closing_ && !grants_.empty() && grants_.front().is_ready) {
    const HeldGrant& grant = grants_.front();
    send(core_.membership().ranks(), grant.epoch, grant.lease);
    grants_.pop_front();
  }
}

void EventLoop::carry_out(const CommitCheckpoint& commit) {
  const CompleteCheckpoint& checkpoint = commit.checkpoint;
  CommitWork work =
      parts_.recorder.commit_work(checkpoint, core_.membership().epoch(), parts_.scorer.steps());
  disk_.submit([this, checkpoint, work = std::move(work)]() -> DiskThread::Follow {
    return [this, checkpoint, result = coordinator::carry_out(work)] {
      parts_.recorder.show_commit(checkpoint, result);
      if (result.error.empty()) {  // the disk works, perhaps again after a failure
        score(checkpoint.step);
        for (std::filesystem::path& temporary : std::exchange(stale_files_, {})) {
          remove(std::move(temporary));
        }
      }
      const auto now = steady_clock::now();
      carry_out(result.error.empty() ? core_.checkpoint_committed(checkpoint.step, now)
                                     : core_.checkpoint_failed(checkpoint.step, result.error, now));
    };
  });
}

void EventLoop::carry_out(const DiscardCheckpoint& discard) {
  if (auto folder = parts_.recorder.give_up_checkpoint(discard.step)) {
    remove(std::move(*folder));
  }
}

void EventLoop::remove(std::filesystem::path temporary) {
  disk_.submit([this, temporary = std::move(temporary)]() -> DiskThread::Follow {
    const bool is_gone = checkpoint::discard_temporary(temporary);
    return [this, temporary, is_gone] {
      if (!is_gone) {
        stale_files_.push_back(temporary);
      }
    };
  });
}

void EventLoop::discard_unfinished() {
  folders_.finish(kLastRemovals);
  folders_.poll();
  for (std::filesystem::path& folder : parts_.recorder.give_up_checkpoints()) {
    remove(std::move(folder));  // queued behind a commit that is under way
  }
  disk_.finish(kLastRemovals);
}

void EventLoop::end() {
  if (!end_.is_orderly) {
    parts_.lifelines.abandon_all(end_.keeps);
  }
  parts_.recorder.finish(end_, core_.membership());
  closing_ = true;
  ended_at_ = closing_since_ = steady_clock::now();
  if (end_.keeps) {
    keep_snapshots();
  }
  close_if_all_gone();
}

void EventLoop::keep_snapshots() {
  copies_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  disk_.submit(
      [this, copies = copies_,
       keep = parts_.recorder.keep_work(*end_.unsaved_snapshot)]() mutable -> DiskThread::Follow {
        keep.progress = [copies] { copies->fetch_add(1, std::memory_order_relaxed); };
        return [this, result = coordinator::carry_out(keep)] {
          copies_.reset();
          parts_.recorder.show_kept(result);
        };
      });
}

void EventLoop::on_keeping(Rank rank) {
  saving_ranks_.insert(rank);
  closing_since_ = steady_clock::now();
}

bool EventLoop::is_keeping() const {
  return copies_ != nullptr || std::ranges::any_of(saving_ranks_, [this](Rank rank) {
           return parts_.lifelines.is_open(rank);
         });
}

void EventLoop::close_if_all_gone() {
  const auto now = steady_clock::now();
  const std::uint64_t copied = copies_ != nullptr ? copies_->load() : copies_seen_;
  if (std::exchange(copies_seen_, copied) != copied) {
    closing_since_ = now;
  }
  const auto& members = core_.membership().members();
  const bool all_gone =
      end_.is_orderly || std::ranges::all_of(members, [this](const Member& member) {
        // A joined member has a lifeline or answers the Stop; an unknown member has neither.
        const bool known = member.state != WorkerState::kLost && member.state != WorkerState::kLeft;
        return !parts_.lifelines.is_open(member.rank) &&
               (!known || member.heard || said_goodbye_.contains(member.rank));
      });
  const std::chrono::milliseconds patience = is_keeping() ? kKeepingStall : kClosingDeadline;
  if ((all_gone && copies_ == nullptr) || now - closing_since_ >= patience ||
      now - ended_at_ >= kKeepingDeadline) {
    kill_stragglers();
    parts_.recorder.end_keeping();
    parts_.io.stop();
  }
}

void EventLoop::kill_stragglers() {
  if (end_.is_orderly) {
    return;
  }
  for (const Member& member : core_.membership().members()) {
    const bool hangs = parts_.lifelines.is_open(member.rank) ||
                       (!member.heard && !said_goodbye_.contains(member.rank));
    if (hangs) {
      (void)kill_process(member.process);
    }
  }
}

void EventLoop::score(std::int64_t step) {
  if (!parts_.recorder.scores(step)) {
    return;
  }
  if (const auto passed_over = parts_.scorer.want(step)) {
    parts_.recorder.say(fmt::format(
        "note   the checkpoint of step {} is not scored: checkpoints come faster than scores",
        *passed_over));
    carry_out(core_.scored({.step = *passed_over, .value = {}}));
  }
}

void EventLoop::poll_scorer() {
  const auto ended = parts_.scorer.poll(std::chrono::steady_clock::now());
  if (!ended) {
    return;
  }
  if (!ended->error.empty()) {
    parts_.recorder.say(fmt::format("warn  the checkpoint of step {} has got no score: {}",
                                    ended->step, ended->error));
    carry_out(core_.scored({.step = ended->step, .value = {}}));
    return;
  }
  ++scores_to_show_;
  disk_.submit([this, work = parts_.recorder.score_work(
                          ended->step, parts_.scorer.steps())]() -> DiskThread::Follow {
    return [this, step = work.step, result = coordinator::carry_out(work)] {
      --scores_to_show_;
      parts_.recorder.show_score(step, result);
      carry_out(core_.scored({.step = step,
                              .value = score_value(result),
                              .shown = result.score ? fmt::format("{} {:.6g}", result.score->metric,
                                                                  result.score->value)
                                                    : std::string()}));
    };
  });
}

bool EventLoop::has_last_score() const {
  return std::chrono::steady_clock::now() >= *scoring_ends_ ||
         (scores_to_show_ == 0 && !parts_.scorer.is_busy());
}

JobStatus EventLoop::status() const {
  return core_.status(std::chrono::steady_clock::now(), unix_seconds());
}

void EventLoop::obey(const Command& command,
                     const std::function<void(const CommandAnswer&)>& answered) {
  const Commanded commanded =
      core_.on_command(command, std::chrono::steady_clock::now(), unix_seconds());
  const CommandAnswer& answer = commanded.answer;
  when_recorded_ = [answered, answer](const std::string& error) {
    CommandAnswer told = answer;
    told.text += error.empty() ? "" : fmt::format(" (not in steering.jsonl: {})", error);
    answered(told);
  };
  carry_out(commanded.effects);
  if (const auto left = std::exchange(when_recorded_, {})) {  // refused: nothing was recorded
    left({});
  }
}

void EventLoop::carry_out(const RecordSteering& record) {
  SteeringWritten written = std::exchange(when_recorded_, {});
  if (!written) {  // Gangway itself steers: no command to answer
    written = [](const std::string& /*error*/) {};
  }
  parts_.recorder.record_steering(record.event, written);
}

void EventLoop::carry_out(const PinCheckpoint& pin) {
  disk_.submit(
      [this, step = pin.step, checkpoints = parts_.recorder.checkpoints()]() -> DiskThread::Follow {
        try {
          checkpoint::pin_checkpoint(checkpoints, step);
          return [] {};
        } catch (const std::exception& error) {
          return [this, step, reason = std::string(error.what())] {
            parts_.recorder.say(fmt::format("warn  step {} is not pinned: {}", step, reason));
          };
        }
      });
}

}  // namespace gangway::coordinator
