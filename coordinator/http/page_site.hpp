// SPDX-License-Identifier: MIT
// Answers the page's requests for a running job: page files, records as one document, live events,
// pictures, logs, metrics, health. Viewers share each answer; a separate thread reads the disk.
// Called on the page's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.hpp"
#include "coordinator/http/host_figures.hpp"
#include "coordinator/http/metrics.hpp"
#include "coordinator/http/web/event_ring.hpp"
#include "coordinator/http/web/gate.hpp"
#include "coordinator/http/web/web_answer.hpp"
#include "coordinator/io/disk_thread.hpp"
#include "coordinator/steering/job_status.hpp"

namespace gangway::coordinator {

class RunReader;

struct SiteSettings {
  std::filesystem::path run_directory;
  std::string start_name;  ///< prefix of this start's event ids
  BuildFigures build;
  /// While training, silence of the event loop for this long counts as a hang.
  std::chrono::seconds health{60};
};

class PageSite : public std::enable_shared_from_this<PageSite> {
 public:
  /// @param io  shared with the reading thread, which may outlive this object
  PageSite(std::shared_ptr<boost::asio::io_context> io, SiteSettings settings, Gate gate);

  void handle(const WebRequest& request, const Reply& reply);

  void show_status(JobStatus status, TimePoint now);
  void show_tick(const report::Tick& tick);
  void show_line(const std::string& line);
  void show_score(const std::string& metric, double value);
  /// Sends viewers the end of the run.
  void show_end();
  /// Sets the server's load.
  void show_load(const WebLoad& load) { load_ = load; }
  /// Frees the reading thread's finished work.
  void poll() { disk_.poll(); }

 private:
  struct Picture {
    SharedText bytes;
    TimePoint read_at{};
  };

  [[nodiscard]] std::optional<WebDocument> refusal(const WebRequest& request) const;
  void open(const WebRequest& request, const Reply& reply);
  [[nodiscard]] WebDocument health() const;
  [[nodiscard]] WebDocument readiness() const;
  [[nodiscard]] WebAnswer events(const WebRequest& request) const;
  void document(const Reply& reply);
  /// Returns the records with the present status. @pre the records have been read
  [[nodiscard]] WebDocument whole_document(TimePoint now);
  void metrics(const Reply& reply);
  void picture(const std::string& name, const Reply& reply);
  void keep_picture(const std::string& name, const SharedText& bytes);
  void log(const WebRequest& request, const Reply& reply);

  /// Calls `read` on the reading thread, then `then` on the page's unless this object is gone.
  template <typename Read, typename Then>
  void read(Read read, Then then);
  [[nodiscard]] bool is_reading_too_much(const Reply& reply) const;

  std::shared_ptr<boost::asio::io_context> io_;
  SiteSettings settings_;
  Gate gate_;
  EventRing ring_;
  std::map<std::string, WebDocument, std::less<>> files_;  ///< the page's files, by path
  std::shared_ptr<RunReader> reader_;                      ///< used only on the reading thread
  DiskThread disk_;
  int num_reading_ = 0;

  std::shared_ptr<const JobStatus> status_;
  std::string status_json_ = "null";
  TimePoint status_at_{};
  MetricsTotals totals_;
  WebLoad load_;

  SharedText records_;  ///< the document without live data
  TimePoint records_at_{};
  SharedText document_;  ///< the document with live data
  TimePoint document_at_{};
  std::chrono::nanoseconds records_took_{};
  std::vector<Reply> waiting_for_records_;  ///< not empty: the records are being read

  SharedText metrics_;
  TimePoint metrics_at_{};
  std::vector<Reply> waiting_for_metrics_;  ///< not empty: the metrics are being made

  std::map<std::string, Picture> pictures_;
  std::size_t picture_bytes_ = 0;
};

}  // namespace gangway::coordinator
