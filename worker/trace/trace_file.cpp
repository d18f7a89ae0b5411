// SPDX-License-Identifier: MIT
#include "worker/trace/trace_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/this_host.hpp"
#include "job/models/network_id.hpp"
#include "run/trace_steps.hpp"

namespace gangway::worker {
namespace {

using comm::LaneEvent;
using comm::LaneWork;
using comm::TraceClock;
using nlohmann::json;

// Rows of a process, in the viewer's order. Each network's buckets follow.
constexpr int kComputeRow = 1;
constexpr int kOperatorRow = 2;
constexpr int kLaneRow = 3;
constexpr int kMessageRow = 4;
constexpr int kKernelRow = 5;
constexpr int kMarkedRow = 6;
constexpr int kFirstBucketRow = 100;
constexpr int kRowsOfANetwork = 1000;

constexpr std::array kWorks = {"leave", "forward", "sum", "update", "offer", "done"};

std::int64_t nanoseconds(TraceClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

const char* message_name(comm::MessageKind kind) {
  switch (kind) {
    case comm::MessageKind::kPartial:
      return "gradients";
    case comm::MessageKind::kWeights:
      return "weights";
    case comm::MessageKind::kScalars:
      return "norm";
    case comm::MessageKind::kGather:
      return "state";
    case comm::MessageKind::kTensor:
      return "tensor";
    default:
      return "word";  // checks, clocks, and the like: small and rare
  }
}

/// Collects the lines of a file. Times are microseconds since the trace began, small enough that a
/// viewer's floats hold nanoseconds.
class Lines {
 public:
  Lines(Rank rank, TraceClock::time_point began, const PerNetwork<std::string>& networks)
      : rank_(rank), began_(nanoseconds(began)), networks_(networks) {}

  /// Returns a network's name by its number; some messages belong to no network.
  [[nodiscard]] std::string network_name(int network) const {
    return static_cast<std::size_t>(network) < networks_.size()
               ? networks_[static_cast<NetworkId>(network)]
               : fmt::format("network {}", network);
  }

  void add_interval(int row, const char* category, const std::string& name, std::int64_t begin,
                    std::int64_t end, json arguments) {
    add({{"ph", "X"},
         {"pid", rank_},
         {"tid", row},
         {"cat", category},
         {"name", name},
         {"ts", microseconds(begin)},
         {"dur", static_cast<double>(std::max<std::int64_t>(0, end - begin)) / 1000.0},
         {"args", std::move(arguments)}});
  }
  void add_interval(int row, const char* category, const std::string& name,
                    TraceClock::time_point begin, TraceClock::time_point end, json arguments) {
    add_interval(row, category, name, nanoseconds(begin), nanoseconds(end), std::move(arguments));
  }
  /// Adds an interval to a row whose intervals may overlap.
  void add_loose_interval(int row, const char* category, const std::string& name,
                          TraceClock::time_point begin, TraceClock::time_point end,
                          json arguments) {
    json event = {{"pid", rank_},     {"tid", row},   {"cat", category},
                  {"id", ++last_id_}, {"name", name}, {"args", std::move(arguments)}};
    event["ph"] = "b";
    event["ts"] = microseconds(nanoseconds(begin));
    add(event);
    event["ph"] = "e";
    event["ts"] = microseconds(nanoseconds(end));
    event.erase("args");
    add(event);
  }
  /// Adds a value from `time` on: the viewer draws it over time.
  void add_count(const char* name, std::int64_t time, std::int64_t bytes) {
    add({{"ph", "C"},
         {"pid", rank_},
         {"name", name},
         {"args", {{"bytes", bytes}}},
         {"ts", microseconds(time)}});
  }
  void name_process(const std::string& name, const std::string& label) {
    add({{"ph", "M"}, {"pid", rank_}, {"name", "process_name"}, {"args", {{"name", name}}}});
    add({{"ph", "M"}, {"pid", rank_}, {"name", "process_labels"}, {"args", {{"labels", label}}}});
    add({{"ph", "M"},
         {"pid", rank_},
         {"name", "process_sort_index"},
         {"args", {{"sort_index", rank_}}}});
  }
  void name_row(int row, const std::string& name) {
    for (const auto& [key, value] :
         {std::pair<std::string, json>{"name", name}, {"sort_index", row}}) {
      add({{"ph", "M"},
           {"pid", rank_},
           {"tid", row},
           {"name", "thread_" + key},
           {"args", {{key, value}}}});
    }
  }
  /// @param offset  to worker 0's clock, nanoseconds
  [[nodiscard]] std::string text(std::int64_t offset) const {
    return trace_file_head(began_ + offset) + text_ + "\n]}\n";
  }

 private:
  void add(const json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  [[nodiscard]] double microseconds(std::int64_t time) const {
    return static_cast<double>(time - began_) / 1000.0;
  }

  Rank rank_;
  std::int64_t began_;
  const PerNetwork<std::string>& networks_;
  std::int64_t last_id_ = 0;
  std::string text_;
};

/// The rows of operators or kernels.
struct OperatorRows {
  int first = 0;
  const char* category = "";
  const char* name = "";
};

void add_compute(Lines& lines, const TraceContent& content) {
  lines.name_row(kComputeRow, "compute");
  lines.name_row(kMarkedRow, "steps, as PyTorch's tools know them");
  content.compute.for_each([&](const ComputeEvent& event) {
    json arguments = {{"step", event.step}};
    std::string name = fmt::format("step {}", event.step);
    if (event.kind == ComputeEvent::Kind::kLoaderWait) {
      name = "wait for the loader";
    } else if (event.kind == ComputeEvent::Kind::kInstruction) {
      name = pipeline::describe(event.instruction, content.networks);
      arguments["phase"] =
          content.phases.at(static_cast<std::size_t>(event.instruction.phase)).name;
      arguments["repeat"] = event.instruction.repeat;
    }
    if (event.kind == ComputeEvent::Kind::kStep) {
      lines.add_interval(kMarkedRow, "user_annotation", fmt::format("ProfilerStep#{}", event.step),
                         event.begin, event.end, json::object());
    }
    lines.add_interval(kComputeRow, "compute", name, event.begin, event.end, std::move(arguments));
  });
}

/// Adds a row for each thread, or for each stream of a device.
void add_operators(Lines& lines, const std::vector<OperatorEvent>& events,
                   const OperatorRows& where) {
  std::map<std::uint64_t, int> rows;
  for (const OperatorEvent& event : events) {
    const auto [row, is_new] =
        rows.emplace(event.thread, where.first + kRowsOfANetwork * static_cast<int>(rows.size()));
    if (is_new) {
      lines.name_row(row->second, where.name);
    }
    json arguments = json::object();
    if (!event.shapes.empty()) {
      arguments["Input Dims"] = event.shapes;  // PyTorch's name
    }
    if (event.allocated > 0) {
      arguments["allocated"] = event.allocated;
    }
    lines.add_interval(row->second, where.category, event.name, event.begin, event.end,
                       std::move(arguments));
  }
}

void add_memory(Lines& lines, const std::vector<MemoryEvent>& events) {
  std::int64_t on_host = 0;
  std::int64_t on_device = 0;
  for (const MemoryEvent& event : events) {
    std::int64_t& all = event.is_on_device ? on_device : on_host;
    all += event.bytes;
    lines.add_count(
        event.is_on_device ? "device memory since the trace began" : "memory since the trace began",
        event.time, all);
  }
}

/// Shows one bucket of an exchange, from the lane's work on it.
class BucketRow {
 public:
  /// @param agrees  whether updates wait for the gradient's norm
  BucketRow(Lines& lines, int row, bool agrees) : lines_(lines), row_(row), agrees_(agrees) {}

  void take(const LaneEvent& event) {
    switch (event.work) {
      case LaneWork::kLeave:
        left_ = event;
        sums_ = updates_ = {};
        has_left_ = true;
        return;
      case LaneWork::kSum:
        return sums_.extend(event);
      case LaneWork::kUpdate:
        return updates_.extend(event);
      case LaneWork::kDone:
        if (std::exchange(has_left_, false)) {  // otherwise it began before the trace
          tell(event.begin);
        }
        return;
      default:
        return;
    }
  }

 private:
  struct Stretch {
    TraceClock::time_point begin;
    TraceClock::time_point end;
    bool is_there = false;
    void extend(const LaneEvent& event) {
      begin = is_there ? begin : event.begin;
      end = event.end;
      is_there = true;
    }
  };

  void add(const char* name, TraceClock::time_point begin, TraceClock::time_point end) {
    lines_.add_interval(
        row_, "exchange", name, begin, end,
        {{"network", lines_.network_name(left_.network)}, {"bucket", left_.bucket}});
  }
  void tell(TraceClock::time_point done) {
    add("exchange", left_.begin, done);
    add("leave", left_.begin, left_.end);
    TraceClock::time_point updated = left_.end;
    if (sums_.is_there && updates_.is_there) {  // this worker owns a slice of the bucket
      add("travel", left_.end, sums_.begin);
      if (updates_.begin < sums_.end) {
        add("sum and update", sums_.begin, updates_.end);
      } else {
        add("sum", sums_.begin, sums_.end);
        if (agrees_) {
          add("agree", sums_.end, updates_.begin);
        }
        add("update", updates_.begin, updates_.end);
      }
      updated = updates_.end;
    }
    add("weights", updated, done);
  }

  Lines& lines_;
  int row_;
  bool agrees_;
  LaneEvent left_;
  Stretch sums_;
  Stretch updates_;
  bool has_left_ = false;
};

bool agrees(const TraceContent& content, int network) {
  return std::ranges::any_of(content.phases, [network](const pipeline::Phase& phase) {
    return phase.agrees && pipeline::trains(phase, static_cast<NetworkId>(network));
  });
}

void add_lane(Lines& lines, const TraceContent& content) {
  lines.name_row(kLaneRow, "lane");
  std::map<std::pair<int, int>, BucketRow> rows;
  content.lane.for_each([&](const LaneEvent& event) {
    const std::string network = lines.network_name(event.network);
    const std::string bucket = fmt::format("{} bucket {}", network, event.bucket);
    if (event.work != LaneWork::kDone) {
      lines.add_interval(
          kLaneRow, "lane",
          fmt::format("{} {}", kWorks.at(static_cast<std::size_t>(event.work)), bucket),
          event.begin, event.end, {{"network", network}, {"bucket", event.bucket}});
    }
    const int row = kFirstBucketRow + kRowsOfANetwork * event.network + event.bucket;
    const auto [found, is_new] =
        rows.try_emplace({event.network, event.bucket}, lines, row, agrees(content, event.network));
    if (is_new) {
      lines.name_row(row, bucket);
    }
    found->second.take(event);
  });
}

void add_messages(Lines& lines, const TraceContent& content) {
  if (content.messages == nullptr) {
    return;
  }
  content.messages->for_each([&](const comm::MessageEvent& event) {
    const std::string name =
        fmt::format("{} {} {}", event.is_send ? "send" : "receive",
                    lines.network_name(event.tag.network), message_name(event.tag.kind));
    lines.add_loose_interval(kMessageRow, "message", name, event.begin, event.end,
                             {{"bucket", event.tag.bucket},
                              {"part", event.tag.part},
                              {"peer_rank", rank_of(WorkerIndex(event.peer))},
                              {"bytes", event.bytes}});
  });
}

/// Returns "clock of rank 1", and notes missing data.
std::string label(const TraceContent& content) {
  std::string text = content.clock.error == 0
                         ? "clock of rank 1's host"
                         : fmt::format("clock set to rank 1's to within {:.0f} us",
                                       static_cast<double>(content.clock.error) / 1000.0);
  const std::uint64_t lost = content.compute.lost() + content.lane.lost() +
                             (content.messages == nullptr ? 0 : content.messages->lost());
  return lost == 0 ? text : text + fmt::format("; the first {} events are lost", lost);
}

}  // namespace

void write_trace_file(const TraceContent& content) {
  const Rank rank = rank_of(WorkerIndex(content.worker));
  Lines lines(rank, content.began, content.networks);
  lines.name_process(fmt::format("rank {} on {}", rank, host_name()), label(content));
  add_compute(lines, content);
  add_operators(lines, content.operators.operators, {kOperatorRow, "operator", "operators"});
  add_operators(lines, content.operators.kernels, {kKernelRow, "kernel", "device"});
  add_memory(lines, content.operators.memory);
  add_lane(lines, content);
  add_messages(lines, content);
  std::error_code failure;
  std::filesystem::create_directories(content.folder, failure);
  if (failure) {
    throw EnvironmentError(fmt::format("{}: cannot be made ({}); check its permissions",
                                       content.folder.string(), failure.message()));
  }
  write_file_atomically(content.folder / trace_file_of_rank(rank),
                        lines.text(content.clock.nanoseconds));
}

}  // namespace gangway::worker
