// SPDX-License-Identifier: MIT
// gangway-control: watches and steers running jobs. Called by `gangway status`, `pause` and others,
// so that `gangway` itself need not load gRPC.
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/poll_until.hpp"
#include "base/text/utf8.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/control/control_client.hpp"
#include "launch/control/status_text.hpp"
#include "launch/report/operator_table.hpp"
#include "run/control/unanswered_run.hpp"
#include "run/trace_steps.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using Stub = wire::Control::Stub;

constexpr double kLongestLimitSeconds = 3600.0;
constexpr milliseconds kLook{100};

struct Options {
  std::string program;  ///< as typed
  std::string run;
  std::filesystem::path outdir = "runs";
  std::filesystem::path token_file;
  double limit_seconds = 5.0;
  bool json = false;
  bool pin = false;
  double wait_seconds = 0.0;
  std::string setting;
  std::string steps;
  std::string host;
  int workers = 0;
  std::int64_t trace_next = 0;
  std::size_t top = 0;  ///< operators to list; 0: trace steps instead
  std::string sort = "self";
  TraceDetail detail;
};

milliseconds milliseconds_of(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

ControlAccess access_of(const Options& options) {
  const RunReference reference = parse_run_reference(options.run);
  if (reference.step) {
    throw ConfigError(
        fmt::format("this command needs a run, not a checkpoint: leave @{} out", *reference.step));
  }
  return {.run = find_run_directory(reference, options.outdir),
          .token_file = options.token_file,
          .limit = milliseconds_of(options.limit_seconds)};
}

void tell(const Options& options, const wire::CommandReply& reply) {
  std::cout << (options.json ? json_line(reply) : plain(reply.text())) << std::endl;
}

template <typename Request>
void command(const Options& options,
             grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&, wire::CommandReply*),
             const Request& request) {
  ControlClient client(access_of(options));
  tell(options, client.ask(call, request));
}

/// Prints the state of a run. A run that has ended or is starting is no error.
void show_status(const Options& options) {
  const ControlAccess access = access_of(options);
  if (const std::string phase = phase_of_unanswered(access.run); !phase.empty()) {
    wire::StatusReply status;
    status.set_run_directory(access.run.string());
    status.set_phase(phase);
    status.set_waits_for(phase == kStarting ? "its coordinator" : "");
    const std::string text =
        phase == kStarting ? fmt::format("run     {}\nphase   starting: {}", access.run.string(),
                                         describe(look_at_unanswered(access.run)))
                           : end_of(access.run);
    std::cout << (options.json ? json_line(status) : plain(text)) << std::endl;
    return;
  }
  ControlClient client(access);
  const auto status = client.ask(&Stub::Status, wire::StatusRequest{});
  std::cout << (options.json ? json_line(status) + "\n"
                             : plain(status_text(status, options.program)))
            << std::flush;
}

void watch(const Options& options) {
  ControlClient client(access_of(options));
  client.watch([&options](const wire::WatchReply& reply) {
    if (options.json) {
      std::cout << json_line(reply) << std::endl;
      return std::cout.good();
    }
    if (reply.has_status()) {
      std::cout << plain(status_text(reply.status(), options.program));
    } else if (reply.has_tick()) {
      std::cout << plain(reply.tick().line()) << '\n';
    } else if (reply.what_case() == wire::WatchReply::kMissed) {
      std::cout << "missed " << reply.missed() << " lines: this reader is slow\n";
    } else {
      std::cout << plain(reply.event()) << '\n';
    }
    std::cout << std::flush;
    return std::cout.good();
  });
}

void save(const Options& options) {
  ControlClient client(access_of(options));
  wire::CheckpointRequest request;
  request.set_pin(options.pin);
  const auto reply = client.ask(&Stub::Checkpoint, request);
  const auto is_saved = [&] {
    return client.ask(&Stub::Status, wire::StatusRequest{}).checkpoint().step() >= reply.step();
  };
  if (options.wait_seconds > 0.0 &&
      !poll_until(milliseconds_of(options.wait_seconds), kLook, is_saved)) {
    throw EnvironmentError(fmt::format("step {} was not saved within {} s: look at the job's log",
                                       reply.step(), options.wait_seconds));
  }
  tell(options, reply);
}

void set(const Options& options) {
  const std::size_t equals = options.setting.find('=');
  if (equals == std::string::npos) {
    throw ConfigError(fmt::format("'{}': say KEY=VALUE, as checkpoint.keep=5", options.setting));
  }
  wire::SetRequest request;
  request.set_key(options.setting.substr(0, equals));
  request.set_value(options.setting.substr(equals + 1));
  command(options, &Stub::Set, request);
}

/// Reads the trace files; needs no running job.
void show_operators(const Options& options) {
  if (options.trace_next > 0 || !options.steps.empty()) {
    throw ConfigError("--top shows what has been traced: trace the steps first, then show it");
  }
  const OperatorOrder order =
      options.sort == "total" ? OperatorOrder::kTotal : OperatorOrder::kSelf;
  const auto sums = operator_sums(
      read_operators(access_of(options).run,
                     {.kernels = options.detail.kernels, .shapes = options.detail.shapes}),
      order);
  std::cout << (options.json ? operator_lines(sums, options.top)
                             : operator_table(sums, options.top))
            << std::flush;
}

void trace(const Options& options) {
  if (options.top > 0) {
    return show_operators(options);
  }
  wire::TraceRequest request;
  TraceDetail detail;
  if (options.trace_next > 0) {
    request.set_end(options.trace_next);
  } else {
    const TraceSteps steps = parse_trace_steps(options.steps);
    if (steps.empty()) {
      throw ConfigError(
          "name the steps to trace, as 100:110 or --next 10; or give --top 20 to list the "
          "operators of traced steps");
    }
    request.set_begin(steps.begin);
    request.set_end(steps.end);
    detail = steps.detail;
  }
  request.set_shapes(detail.shapes || options.detail.shapes);
  request.set_memory(detail.memory || options.detail.memory);
  request.set_kernels(detail.kernels || options.detail.kernels);
  command(options, &Stub::Trace, request);
}

void drain(const Options& options) {
  wire::DrainRequest request;
  request.set_host(options.host);
  command(options, &Stub::Drain, request);
}

void resize(const Options& options) {
  wire::ResizeRequest request;
  request.set_workers(options.workers);
  command(options, &Stub::Resize, request);
}

CLI::App* add_verb(CLI::App& app, Options& options, const char* name, const char* what,
                   void (*action)(const Options&)) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->add_option("run", options.run, "Directory or name of a run")->required()->type_name("RUN");
  verb->add_option("--outdir", options.outdir, "Folder of the runs")->capture_default_str();
  verb->add_flag("--json", options.json, "For scripts: JSON, one object per line");
  verb->add_option("--timeout", options.limit_seconds, "Seconds to wait for an answer")
      ->capture_default_str()
      ->check(CLI::Range(0.01, kLongestLimitSeconds));
  verb->add_option("--token-file", options.token_file,
                   "File with the access token (default: the run directory's)");
  verb->callback([&options, action] { action(options); });
  return verb;
}

void add_verbs(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  add_verb(app, options, "status", "State of a running job", show_status);
  add_verb(app, options, "watch", "Ticks and events of a running job, live until it ends", watch);
  add_verb(app, options, "pause", "Pause a running job until it is resumed",
           [](const Options& given) { command(given, &Stub::Pause, wire::PauseRequest{}); });
  add_verb(app, options, "resume", "Resume a paused job",
           [](const Options& given) { command(given, &Stub::Resume, wire::ResumeRequest{}); });
  CLI::App* checkpoint = add_verb(app, options, "checkpoint", "Save a checkpoint now", save);
  checkpoint->add_flag("--pin", options.pin, "Keep it until `gangway checkpoints unpin`");
  checkpoint->add_option("--wait", options.wait_seconds, "Seconds to wait until it is on the disk");
  CLI::App* set_verb = add_verb(app, options, "set",
                                "Change a key of a running job; results stay bitwise equal", set);
  set_verb->add_option("setting", options.setting, "As checkpoint.keep=5")
      ->required()
      ->type_name("KEY=VALUE");
  CLI::App* trace_verb = add_verb(app, options, "trace",
                                  "Trace the next steps, or list the operators of a trace", trace);
  trace_verb->add_option("steps", options.steps, "First step and the step after the last: 100:110")
      ->type_name("A:B");
  trace_verb->add_option("--next", options.trace_next, "Number of steps, as soon as possible");
  CLI::Option* top = trace_verb
                         ->add_option("--top", options.top,
                                      "Number of operators to list from the trace, over all ranks")
                         ->check(CLI::PositiveNumber);
  trace_verb
      ->add_option("--sort", options.sort, "Sort by own time, or with the called operators' time")
      ->capture_default_str()
      ->check(CLI::IsMember({"self", "total"}))
      ->needs(top);
  trace_verb->add_flag("--shapes", options.detail.shapes,
                       "Record the operators' input shapes; with --top: a row per shape");
  trace_verb->add_flag("--memory", options.detail.memory,
                       "Record what operators allocate, and total memory over time");
  trace_verb->add_flag("--kernels", options.detail.kernels,
                       "Record the GPUs' kernels; with --top: list kernels, not operators");
  add_verb(app, options, "stop", "Save and end the job with exit code 75",
           [](const Options& given) { command(given, &Stub::Stop, wire::StopRequest{}); });
  CLI::App* drain_verb =
      add_verb(app, options, "drain", "Take a host or a worker out of a running job", drain);
  drain_verb->add_option("host", options.host, "Name of the host, or a worker's rank")
      ->required()
      ->type_name("HOST|RANK");
  CLI::App* resize_verb =
      add_verb(app, options, "resize", "Continue with another number of workers", resize);
  resize_verb->add_option("workers", options.workers, "New number of workers")
      ->required()
      ->type_name("N");
}

/// Reports an error under the name of the typed command.
int report_failure(const std::string& message, ExitCode code) {
  std::cerr << "gangway: " << plain(message) << std::endl;
  return static_cast<int>(code);
}

int run_verb(int argc, char** argv) {
  CLI::App app("Gangway: watches and steers running jobs", "gangway");
  Options options;
  options.program = argv[0];
  add_verbs(app, options);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_failure(std::string(error.what()) + ": see --help", ExitCode::kUsage);
  } catch (const Error& error) {
    return report_failure(error.what(), error.code());
  } catch (const std::exception& error) {
    return report_failure(std::string("internal: ") + error.what(), ExitCode::kInternal);
  }
}

}  // namespace
}  // namespace gangway::launch

int main(int argc, char** argv) { return gangway::launch::run_verb(argc, argv); }
