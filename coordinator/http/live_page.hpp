// SPDX-License-Identifier: MIT
// Serves a running job over HTTP (output.http): the live page, its data, metrics, health. Owned by
// the coordinator's main thread; its own thread handles all viewers. Neither a viewer nor a disk
// blocks the event loop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/io/run_output.hpp"
#include "job/http_address.hpp"
#include "job/spec.hpp"

namespace gangway::coordinator {

/// PEM files.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct PageSettings {
  HttpAddress address;
  std::optional<TlsFiles> tls = {};  ///< none: no TLS
  std::filesystem::path run_directory;
  std::string host;  ///< this host's name, for the user
  std::string version;
  std::int64_t incarnation = 0;
};

class LivePage {
 public:
  /// Listens, and writes the address to the run directory. @throws EnvironmentError if it cannot
  /// listen, ConfigError if the certificate is invalid
  explicit LivePage(const PageSettings& settings);
  /// Sends viewers the end of the run, and waits a short time for them to receive it.
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// Returns the terminal's line: "page   http://127.0.0.1:41234/ on host-a, for this user".
  [[nodiscard]] std::string line() const;
  /// Returns the page's callbacks; call them on one thread, and not after the page's end.
  [[nodiscard]] Viewers viewers();
  /// Keeps the address file, because the run restarts by itself and viewers reconnect to the port.
  void leave_place() { is_left_ = true; }

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
  bool is_left_ = false;
};

/// Opens the job's page; null for `off`, or after a `warn` if auto finds no port. Uses TLS if other
/// hosts can reach the page, unless the job has http_plain.
/// @throws EnvironmentError if it cannot listen at a given address
/// @throws ConfigError if the certificate is invalid
[[nodiscard]] std::unique_ptr<LivePage> open_live_page(
    const OutputSpec& output, PageSettings settings,
    const std::function<void(const std::string&)>& warn);

}  // namespace gangway::coordinator
