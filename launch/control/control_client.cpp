// SPDX-License-Identifier: MIT
#include "launch/control/control_client.hpp"

#include <utility>

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/this_host.hpp"
#include "job/file/parse.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "report/log_file.hpp"
#include "run/control/unanswered_run.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kCommandLimitBytes = std::size_t{1} << 20U;
constexpr std::size_t kCertificateLimitBytes = std::size_t{1} << 20U;

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): one thread
  return fmt::format("{}@{}", entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name,
                     host_name());
}

ControlPlace require_place(const std::filesystem::path& run) {
  const auto place = read_control(run);
  if (!place) {
    throw EnvironmentError(end_of(run));
  }
  const bool is_here = place->host == host_name();
  if (!place->socket().empty() && !is_here) {
    throw EnvironmentError(
        fmt::format("{} is steered on host {}: run this there, or start the job with "
                    "output.control=ADDRESS:PORT (docs/control.md)",
                    run.string(), place->host));
  }
  if (is_here && place->pid > 0 && start_ticks_of(place->pid) == 0) {
    throw EnvironmentError(end_of(run));
  }
  return *place;
}

std::string require_token(const ControlAccess& access) {
  const std::filesystem::path& run = access.run;
  if (!access.token_file.empty()) {
    if (auto token = read_token(access.token_file)) {
      return *token;
    }
    throw EnvironmentError(fmt::format("{}: there is no such token", access.token_file.string()));
  }
  for (const std::string_view name : {kSteerTokenFile, kReadTokenFile}) {
    if (auto token = read_own_token(run / name)) {
      return *token;
    }
  }
  throw EnvironmentError(fmt::format("{}: has no {}: the job is ending, or give --token-file",
                                     run.string(), kSteerTokenFile));
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const ControlPlace& place) {
  if (place.certificate.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  const auto certificate = read_small_file(place.certificate, kCertificateLimitBytes);
  if (!certificate) {
    throw EnvironmentError(
        fmt::format("{}: the job's certificate is not there: copy it from host {}",
                    place.certificate, place.host));
  }
  return grpc::SslCredentials({.pem_root_certs = *certificate});
}

/// Describes the state of a killed run, and the command that resumes it.
std::string way_on(const std::filesystem::path& run) {
  const auto step = newest_checkpoint(run);
  const std::string saved =
      step ? fmt::format("its newest checkpoint is of step {}", *step) : "it has no checkpoint";
  std::string command =
      read_small_file(run / kCommandFile, kCommandLimitBytes).value_or(std::string());
  command.erase(command.find_last_not_of('\n') + 1);
  return command.empty() ? saved + "; the same command starts it again"
                         : fmt::format("{}; to resume: {}", saved, command);
}

/// True if the run's job has output.control off.
bool is_closed(const std::filesystem::path& run) {
  const auto job = job_in(run / kJobFile);
  return job && job->output.control == "off";
}

/// True if the server runs but TLS fails; gRPC reports that only in the message text.
bool fails_at_tls(const std::string& message) {
  return message.find("andshake") != std::string::npos ||
         message.find("certificate") != std::string::npos;
}

}  // namespace

std::string phase_of_unanswered(const std::filesystem::path& run) {
  if (read_control(run)) {
    return {};
  }
  if (read_status(run)) {
    return "ended";
  }
  const RunTrace trace = look_at_unanswered(run).trace;
  return trace == RunTrace::kLaunching || (trace == RunTrace::kComing && !is_closed(run))
             ? std::string(kStarting)
             : std::string();
}

std::string end_of(const std::filesystem::path& run) {
  if (const auto status = read_status(run)) {
    const bool goes_on = status->exit_code == static_cast<int>(ExitCode::kPreempted) ||
                         status->exit_code == static_cast<int>(ExitCode::kWorkerLost);
    return fmt::format("no job runs in {}: the last ended with exit code {}: {} ({}){}",
                       run.string(), status->exit_code, status->reason,
                       (run / kStatusFile).string(), goes_on ? "; " + way_on(run) : "");
  }
  const UnansweredRun seen = look_at_unanswered(run);
  switch (seen.trace) {
    case RunTrace::kNone:
      return fmt::format("no job has been started in {}", run.string());
    case RunTrace::kGone:
      return fmt::format("no job runs in {}: {}; {}", run.string(), describe(seen), way_on(run));
    case RunTrace::kComing:
      if (is_closed(run)) {
        return fmt::format(
            "{} takes no commands: its job has output.control=off; its process is pid {}, its log "
            "{}",
            run.string(), seen.pid, (run / kLogsFolder / report::log_file_name(Rank(0))).string());
      }
      break;
    case RunTrace::kLaunching:
    case RunTrace::kOnOtherHost:
      break;
  }
  return fmt::format("{} takes no commands yet: {}", run.string(), describe(seen));
}

ControlClient::ControlClient(ControlAccess access)
    : access_(std::move(access)),
      place_(require_place(access_.run)),
      token_(require_token(access_)) {
  gpr_set_log_function([](gpr_log_func_args* /*line*/) {});  // errors are reported in one line
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  stub_ = wire::Control::NewStub(
      grpc::CreateCustomChannel(place_.address, credentials_of(place_), arguments));
}

void ControlClient::prepare(grpc::ClientContext& context) const {
  context.AddMetadata("authorization", "Bearer " + token_);
  context.AddMetadata("gangway-user", user_name());
}

std::string ControlClient::coordinator_version() const {
  grpc::ClientContext context;
  prepare(context);
  context.set_deadline(std::chrono::system_clock::now() + access_.limit);
  wire::StatusReply reply;
  return stub_->Status(&context, wire::StatusRequest{}, &reply).ok() && !reply.version().empty()
             ? reply.version()
             : "unknown";
}

void ControlClient::require(const grpc::Status& status) const {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
      throw ConfigError(status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      throw ConfigError(
          fmt::format("{}: its coordinator is of another version ({}; this is {}) and does not "
                      "know this command: use that version, or restart the job with this version",
                      access_.run.string(), coordinator_version(), GANGWAY_VERSION));
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      throw EnvironmentError(
          fmt::format("{}: refused: {}", access_.run.string(), status.error_message()));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      throw EnvironmentError(
          fmt::format("{}: its coordinator (host {}, pid {}) did not answer in {:.1f} s: is its "
                      "process stopped, or does its disk hang?",
                      access_.run.string(), place_.host, place_.pid,
                      std::chrono::duration<double>(access_.limit).count()));
    case grpc::StatusCode::UNAVAILABLE:
      if (!place_.certificate.empty() && fails_at_tls(status.error_message())) {
        throw EnvironmentError(fmt::format(
            "{}: the server at {} is not trusted: its certificate must name that address, be in "
            "date, and be signed by a certificate in {} ({})",
            access_.run.string(), place_.address, place_.certificate, status.error_message()));
      }
      throw EnvironmentError(fmt::format(
          "{}: no server answers at {}: {}", access_.run.string(), place_.address,
          read_control(access_.run) ? "was the coordinator killed?" : end_of(access_.run)));
    default:
      throw EnvironmentError(fmt::format("{}: {} (gRPC {})", access_.run.string(),
                                         status.error_message(),
                                         static_cast<int>(status.error_code())));
  }
}

void ControlClient::watch(const std::function<bool(const wire::WatchReply&)>& take) {
  grpc::ClientContext context;
  prepare(context);
  const auto stream = stub_->Watch(&context, wire::WatchRequest{});
  bool goes_on = true;
  for (wire::WatchReply reply; goes_on && stream->Read(&reply);) {
    goes_on = take(reply);
  }
  if (!goes_on) {
    context.TryCancel();
    (void)stream->Finish();
    return;
  }
  require(stream->Finish());
}

}  // namespace gangway::launch
