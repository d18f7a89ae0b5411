// SPDX-License-Identifier: MIT
#include "coordinator/http/live_page.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/system/thread_name.hpp"
#include "base/time.hpp"
#include "coordinator/http/http_place.hpp"
#include "coordinator/http/page_site.hpp"
#include "coordinator/http/web/tls_context.hpp"
#include "coordinator/http/web/web_server.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr int kPageNiceness = 10;  // below the training processes
constexpr std::chrono::milliseconds kHousekeeping{500};
constexpr std::chrono::milliseconds kFarewell{300};

std::string url_of(const PageSettings& settings, std::uint16_t port) {
  const std::string& address = settings.address.host;
  const std::string& host = address == "0.0.0.0" || address == "::" ? settings.host : address;
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}/", settings.tls ? "https" : "http",
                     is_v6 ? fmt::format("[{}]", host) : host, port);
}

std::unique_ptr<boost::asio::ssl::context> tls_of(const PageSettings& settings) {
  return settings.tls ? tls_context(settings.tls->certificate, settings.tls->key) : nullptr;
}

}  // namespace

/// State that lives until the page's thread has ended.
struct LivePage::Parts {
  explicit Parts(const PageSettings& given)
      : settings(given),
        token(run_secret(settings.run_directory, kHttpTokenFile)),
        io(std::make_shared<boost::asio::io_context>(1)),
        housekeeping(*io),
        tls(tls_of(settings)),
        server(*io,
               {.address = settings.address,
                .port_before = port_before(settings.run_directory),
                .tls = tls.get()},
               [this](const WebRequest& request, const Reply& reply) {
                 site->handle(request, reply);
               }),
        port(server.port()),
        site(std::make_shared<PageSite>(
            io,
            SiteSettings{.run_directory = settings.run_directory,
                         .start_name = fmt::format("{}-{}", settings.incarnation, ::getpid()),
                         .build = {.version = settings.version,
                                   .run = settings.run_directory.filename().string(),
                                   .started_unix = unix_seconds()}},
            Gate(token, fmt::format("gangway-{}", port),
                 run_secret(settings.run_directory, kHttpSessionFile)))),
        url(url_of(settings, port)) {}

  void run() {
    name_this_thread("page");
    (void)::setpriority(PRIO_PROCESS, 0, kPageNiceness);  // on Linux, of this thread
    server.start();
    keep_house();
    while (!io->stopped()) {
      try {
        io->run();
      } catch (const std::exception& error) {
        // For example out of memory: one viewer loses an answer, and training continues.
        site->show_line(fmt::format("warn  the live page has failed to answer: {}", error.what()));
      }
    }
  }

  void keep_house() {
    site->poll();
    site->show_load({.connections = server.num_connections(),
                     .streams = server.num_streams(),
                     .requests = server.num_requests(),
                     .refused = server.num_refused()});
    housekeeping.expires_after(kHousekeeping);
    housekeeping.async_wait([this](const error_code& aborted) {
      if (!aborted) {
        keep_house();
      }
    });
  }

  /// Calls `tell` on the page's thread.
  template <typename Tell>
  void tell(Tell tell) {
    boost::asio::post(*io, [this, tell = std::move(tell)]() mutable {
      tell(*site);
      server.pump();
    });
  }

  void end() {
    boost::asio::post(*io, [this] {
      server.close();
      site->show_end();
      server.pump();
      housekeeping.expires_after(server.num_streams() > 0 ? kFarewell
                                                          : std::chrono::milliseconds(0));
      housekeeping.async_wait([this](const error_code& /*aborted*/) { io->stop(); });
    });
  }

  PageSettings settings;
  std::string token;
  std::shared_ptr<boost::asio::io_context> io;
  boost::asio::steady_timer housekeeping;
  std::unique_ptr<boost::asio::ssl::context> tls;  // null: no TLS
  WebServer server;
  std::uint16_t port;
  std::shared_ptr<PageSite> site;
  std::string url;
  std::jthread thread;
};

LivePage::LivePage(const PageSettings& settings) : parts_(std::make_shared<Parts>(settings)) {
  write_http_place(settings.run_directory, {.url = parts_->url,
                                            .token = parts_->token,
                                            .host = settings.host,
                                            .port = parts_->port,
                                            .pid = ::getpid()});
  parts_->thread = std::jthread([parts = parts_.get()] { parts->run(); });
}

LivePage::~LivePage() {
  parts_->end();
  parts_->thread.join();
  if (!is_left_) {
    remove_http_place(parts_->settings.run_directory);
  }
}

std::string LivePage::line() const {
  const PageSettings& settings = parts_->settings;
  return settings.address.is_open_to_others()
             ? fmt::format("page   {} with the token in {}{}", parts_->url,
                           (settings.run_directory / kHttpFile).string(),
                           settings.tls ? "" : ", not encrypted")
             : fmt::format("page   {} on {}, for this user", parts_->url, settings.host);
}

Viewers LivePage::viewers() {
  const std::shared_ptr<Parts>& parts = parts_;
  return {.status =
              [parts](JobStatus status) {
                parts->tell([status = std::move(status)](PageSite& site) mutable {
                  site.show_status(std::move(status), steady_clock::now());
                });
              },
          .tick =
              [parts](report::Tick tick) {
                tick.histograms.clear();
                parts->tell([tick = std::move(tick)](PageSite& site) { site.show_tick(tick); });
              },
          .line =
              [parts](const std::string& line) {
                parts->tell([line](PageSite& site) { site.show_line(line); });
              },
          .score =
              [parts](const std::string& metric, double value) {
                parts->tell([metric, value](PageSite& site) { site.show_score(metric, value); });
              }};
}

std::unique_ptr<LivePage> open_live_page(const OutputSpec& output, PageSettings settings,
                                         const std::function<void(const std::string&)>& warn) {
  if (output.http == "off") {
    return nullptr;
  }
  if (output.http != "auto") {
    settings.address = parse_http_address(output.http).value_or(HttpAddress());
    if (settings.address.is_open_to_others() && !output.http_plain) {
      settings.tls = TlsFiles{.certificate = output.control_certificate, .key = output.control_key};
    }
    return std::make_unique<LivePage>(settings);
  }
  try {
    return std::make_unique<LivePage>(settings);
  } catch (const EnvironmentError& error) {
    warn(fmt::format("warn  there is no live page: {}", error.what()));
    return nullptr;
  }
}

}  // namespace gangway::coordinator
