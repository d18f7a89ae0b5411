// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text/parse_number.hpp"
#include "base/this_host.hpp"
#include "job/http_address.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

struct AddressParts {
  std::string_view host;
  std::optional<int> port = {};
};

AddressParts parts_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return {.host = address};
  }
  const auto port = parse_number<int>(address.substr(colon + 1));
  const bool is_port = port && *port >= 0 && *port <= 65'535;
  return {.host = address.substr(0, colon), .port = is_port ? port : std::nullopt};
}

std::string check_control(const JobSpec& job) {
  const OutputSpec& output = job.output;
  if (output.control == "auto" || output.control == "off") {
    return {};
  }
  const AddressParts parts = parts_of(output.control);
  if (parts.host.empty() || !parts.port) {
    return fmt::format(
        "output.control {} is no place to listen at; use auto, off, or an address and a port, as "
        "127.0.0.1:0",
        output.control);
  }
  if (!is_loopback(parts.host) && output.control_certificate.empty()) {
    return fmt::format(
        "output.control {} can be reached from other hosts: it needs TLS; set "
        "output.control_certificate and output.control_key, or use 127.0.0.1:{}",
        output.control, *parts.port);
  }
  return {};
}

std::string check_http(const JobSpec& job) {
  const OutputSpec& output = job.output;
  const auto address = parse_http_address(output.http);
  if (!address || !address->is_open_to_others() || output.http_plain ||
      !output.control_certificate.empty()) {
    return {};
  }
  return fmt::format(
      "output.http {} can be reached from other hosts, and the page's token would go there in "
      "clear; set output.control_certificate and output.control_key (TLS), or use {} and ssh -L, "
      "or set output.http_plain=true behind a proxy or tunnel that encrypts",
      output.http, address->port == 0 ? "auto" : fmt::format("127.0.0.1:{}", address->port));
}

std::string check_certificate(const JobSpec& job) {
  return job.output.control_certificate.empty() == job.output.control_key.empty()
             ? ""
             : "a certificate is of no use without its key; set both "
               "output.control_certificate and output.control_key, or neither";
}

}  // namespace

std::vector<Rule> output_rules() {
  return {
      {{"output.control", "output.control_certificate"},
       "output.control is auto, off or ADDRESS:PORT; an address other than loopback needs "
       "output.control_certificate",
       check_control},
      {{"output.http", "output.http_plain", "output.control_certificate"},
       "output.http other than loopback needs output.control_certificate, or output.http_plain",
       check_http},
      {{"output.control_certificate", "output.control_key"},
       "output.control_certificate and output.control_key come together",
       check_certificate,
       {"output.control_certificate", "output.control_key"}},
  };
}

}  // namespace gangway
