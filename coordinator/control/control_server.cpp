// SPDX-License-Identifier: MIT
#include "coordinator/control/control_server.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "base/secret.hpp"
#include "base/this_host.hpp"
#include "coordinator/control/authorizer.hpp"
#include "coordinator/control/replies.hpp"
#include "coordinator/control/watchers.hpp"
#include "coordinator/io/disk_thread.hpp"
#include "run/control/control.grpc.pb.h"
#include "run/control/control_file.hpp"
#include "run/control/pem_file.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// The event loop answers within a few milliseconds, unless a disk or a debugger stops it.
constexpr milliseconds kAnswerDeadline{5000};
constexpr milliseconds kLastCalls{300};
constexpr milliseconds kShutdown{2000};
constexpr milliseconds kHandshake{5000};
// Closes a connection without calls. gRPC does not limit connections, so this bounds how long a
// stranger's HTTP/2 connection stays open. Gangway's own clients reconnect by themselves.
constexpr milliseconds kIdle{10'000};
constexpr milliseconds kKeepalive{20'000};
constexpr milliseconds kKeepaliveAnswer{10'000};
constexpr int kLongestMessageBytes = 16'384;
constexpr int kLongestMetadataBytes = 8'192;
constexpr int kStreamsPerConnection = 100;
constexpr std::size_t kMemoryBytes = std::size_t{32} << 20U;
constexpr int kThreads = 8;  // of the health and reflection services

/// A call that waits for the event loop. The first caller of claim() answers it.
struct PendingCall {
  explicit PendingCall(grpc::ServerUnaryReactor* its) : reactor(its) {}
  [[nodiscard]] bool claim() { return !is_claimed.exchange(true); }
  /// @param answer  fills the reply; not called if the call was answered before
  void finish(const std::function<grpc::Status()>& answer) {
    if (claim()) {
      reactor->Finish(answer());
      alarm.Cancel();
    }
  }

  grpc::ServerUnaryReactor* reactor;  // owned by gRPC until finished
  std::atomic<bool> is_claimed = false;
  grpc::Alarm alarm;
};

std::string_view metadata(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end()
             ? std::string_view()
             : std::string_view(found->second.data(), found->second.size());
}

using Waiting = std::shared_ptr<PendingCall>;

class Service : public wire::Control::CallbackService {
 public:
  Service(ControlHandlers handlers, ControlTokens tokens)
      : handlers_(std::move(handlers)), authorizer_(std::move(tokens)) {}

  [[nodiscard]] Watchers& watchers() { return watchers_; }

  /// Ends all waiting calls; later calls do not reach the event loop.
  void close() {
    std::set<Waiting> calls;
    {
      const MutexLock lock(mutex_);
      is_closed_ = true;
      calls.swap(calls_);
    }
    for (const auto& call : calls) {
      call->finish([] { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the job ends"); });
    }
    watchers_.end_all(grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const wire::StatusRequest* /*request*/,
                                   wire::StatusReply* reply) override {
    return ask(*context, Permission::kRead, [this, reply](const Waiting& call, const std::string&) {
      call->finish([this, reply] {
        fill(*reply, handlers_.status());
        return grpc::Status::OK;
      });
    });
  }

  grpc::ServerWriteReactor<wire::WatchReply>* Watch(
      grpc::CallbackServerContext* context, const wire::WatchRequest* /*request*/) override {
    const grpc::Status admitted = admit(*context, Permission::kRead);
    const Watchers::Added added = watchers_.add(admitted);
    if (admitted.ok()) {
      handlers_.post([this, number = added.number] {
        wire::WatchReply first;
        fill(*first.mutable_status(), handlers_.status());
        watchers_.begin(number, first);
      });
    }
    return added.stream;
  }

  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context,
                                  const wire::PauseRequest* request,
                                  wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context,
                                   const wire::ResumeRequest* request,
                                   wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Checkpoint(grpc::CallbackServerContext* context,
                                       const wire::CheckpointRequest* request,
                                       wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Set(grpc::CallbackServerContext* context,
                                const wire::SetRequest* request,
                                wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Trace(grpc::CallbackServerContext* context,
                                  const wire::TraceRequest* request,
                                  wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const wire::DrainRequest* request,
                                  wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Resize(grpc::CallbackServerContext* context,
                                   const wire::ResizeRequest* request,
                                   wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context,
                                 const wire::StopRequest* request,
                                 wire::CommandReply* reply) override {
    return obey(*context, *request, reply);
  }

 private:
  [[nodiscard]] static Caller caller_of(const grpc::CallbackServerContext& context,
                                        const std::string& peer) {
    return {.authorization = metadata(context, "authorization"),
            .user = metadata(context, "gangway-user"),
            .peer = peer};
  }

  [[nodiscard]] grpc::Status admit(const grpc::CallbackServerContext& context,
                                   Permission permission) {
    return authorizer_.admit(caller_of(context, {}), permission, steady_clock::now());
  }

  template <typename Request>
  grpc::ServerUnaryReactor* obey(grpc::CallbackServerContext& context, const Request& request,
                                 wire::CommandReply* reply) {
    return ask(
        context, Permission::kSteer,
        [this, order = order_of(request), reply](const Waiting& call, const std::string& who) {
          handlers_.obey({.order = order, .who = who}, [call, reply](const CommandAnswer& answer) {
            call->finish([&] { return fill(*reply, answer); });
          });
        });
  }

  /// Passes the call to the event loop's thread.
  /// @param answer  gets the call and its author, and must finish the call eventually; not called
  /// after the deadline
  template <typename Answer>
  grpc::ServerUnaryReactor* ask(grpc::CallbackServerContext& context, Permission permission,
                                Answer answer) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    if (const grpc::Status admitted = admit(context, permission); !admitted.ok()) {
      reactor->Finish(admitted);
      return reactor;
    }
    auto call = std::make_shared<PendingCall>(reactor);
    {
      const MutexLock lock(mutex_);
      if (is_closed_) {
        reactor->Finish({grpc::StatusCode::UNAVAILABLE, "the job ends"});
        return reactor;
      }
      std::erase_if(calls_, [](const Waiting& one) { return one->is_claimed.load(); });
      calls_.insert(call);
    }
    call->alarm.Set(system_clock::now() + kAnswerDeadline, [call](bool is_over) mutable {
      const auto own = std::move(call);  // breaks the cycle of alarm, function and call
      if (is_over && own->claim()) {
        own->reactor->Finish({grpc::StatusCode::DEADLINE_EXCEEDED,
                              fmt::format("the coordinator did not answer for {} s",
                                          kAnswerDeadline.count() / 1000)});
      }
    });
    const std::string peer = context.peer();
    handlers_.post([call, answer, who = name_of(caller_of(context, peer))] {
      if (!call->is_claimed) {
        answer(call, who);
      }
    });
    return reactor;
  }

  ControlHandlers handlers_;
  Authorizer authorizer_;
  Watchers watchers_;
  Mutex mutex_;
  /// All unfinished calls, and some finished ones.
  std::set<Waiting> calls_ GANGWAY_GUARDED_BY(mutex_);
  bool is_closed_ GANGWAY_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<grpc::ServerCredentials> credentials(const ControlSettings& settings) {
  if (settings.certificate.empty()) {
    return grpc::InsecureServerCredentials();
  }
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({read_pem(settings.key), read_pem(settings.certificate)});
  return grpc::SslServerCredentials(options);
}

void limit(grpc::ServerBuilder& builder) {
  const auto set = [&builder](const char* name, std::int64_t value) {
    builder.AddChannelArgument(name, static_cast<int>(value));
  };
  builder.SetMaxReceiveMessageSize(kLongestMessageBytes);
  set(GRPC_ARG_MAX_METADATA_SIZE, kLongestMetadataBytes);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshake.count());
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdle.count());
  set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepalive.count());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveAnswer.count());
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);  // another job's port counts as taken
  grpc::ResourceQuota quota("control");
  quota.Resize(kMemoryBytes).SetMaxThreads(kThreads);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
}

}  // namespace

struct ControlServer::State {
  State(const ControlSettings& settings, ControlHandlers handlers)
      : run(settings.run_directory),
        tokens{.read = new_secret(), .steer = new_secret()},
        service(std::move(handlers), tokens) {}

  std::filesystem::path run;
  ControlTokens tokens;
  ControlPlace place;
  Service service;
  std::unique_ptr<grpc::Server> server;
  bool is_closed = false;
};

ControlServer::ControlServer(const ControlSettings& settings, ControlHandlers handlers)
    : state_(std::make_shared<State>(settings, std::move(handlers))) {
  // Silences gRPC, which logs every stranger's mistake to standard error.
  gpr_set_log_function([](gpr_log_func_args* /*line*/) {});
  remove_control(state_->run);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  ControlPlace& place = state_->place;
  place.host = host_name();
  place.pid = ::getpid();
  place.certificate =
      settings.certificate.empty() ? "" : std::filesystem::absolute(settings.certificate).string();
  const bool is_socket = settings.address == "auto";
  place.address = settings.address;
  if (is_socket) {
    constexpr std::size_t kNameDigits = 16;
    const auto folder = control_folder(settings.runtime_directory);
    remove_dead_sockets(folder);
    place.address =
        fmt::format("unix:{}/{}.sock", folder.string(), new_secret().substr(0, kNameDigits));
  }
  grpc::ServerBuilder builder;
  limit(builder);
  int port = 0;
  builder.AddListeningPort(place.address, credentials(settings), &port);
  builder.RegisterService(&state_->service);
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr || port == 0) {
    throw EnvironmentError(fmt::format(
        "output.control: cannot listen at {}: is the port taken, or the address another "
        "host's?",
        place.address));
  }
  if (is_socket) {
    (void)::chmod(place.socket().c_str(), 0600);
  } else {
    place.address = fmt::format("{}:{}", place.address.substr(0, place.address.rfind(':')), port);
  }
  write_control(state_->run, place, state_->tokens);
}

ControlServer::~ControlServer() { close(); }

const std::string& ControlServer::address() const { return state_->place.address; }

void ControlServer::publish(const report::Tick& tick) {
  if (state_->service.watchers().empty()) {
    return;
  }
  wire::WatchReply reply;
  fill(*reply.mutable_tick(), tick);
  state_->service.watchers().push(reply);
}

void ControlServer::publish(const std::string& event) {
  if (state_->service.watchers().empty()) {
    return;
  }
  wire::WatchReply reply;
  reply.set_event(as_utf8(event));
  state_->service.watchers().push(reply);
}

void ControlServer::close() {
  if (std::exchange(state_->is_closed, true)) {
    return;
  }
  remove_control(state_->run);
  state_->service.close();
  // Shutdown waits for every call, so it runs on a thread that may outlive this object.
  DiskThread thread;
  thread.submit([state = state_]() -> DiskThread::Follow {
    state->server->Shutdown(system_clock::now() + kLastCalls);
    return [] {};
  });
  thread.finish(kShutdown);
}

}  // namespace gangway::coordinator
