// SPDX-License-Identifier: MIT
#include "run/start_request.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/run_name.hpp"
#include "run/run_directory.hpp"

namespace gangway {
namespace {

constexpr std::size_t kRequestLimitBytes = std::size_t{1} << 20U;

/// Calls `it(name, member)` for each member.
void for_each(auto& request, const auto& it) {
  it("job_file", request.job_file);
  it("overrides", request.overrides);
  it("outdir", request.outdir);
  it("run_name", request.run_name);
  it("run_directory", request.run_directory);
  it("resume", request.resume);
  it("trace", request.trace);
  it("command", request.command);
  it("resume_command", request.resume_command);
  it("goes_on", request.goes_on);
  it("is_again", request.is_again);
  it("replay", request.replay);
  it("lifeline_port", request.lifeline_port);
  it("device", request.device.name);
  it("device_precision", request.device.precision);
  it("device_contiguous", request.device.contiguous);
  it("device_cuda_graph", request.device.cuda_graph);
  it("device_nccl_ctas", request.device.nccl_ctas);
  it("device_bucket_bytes", request.device.bucket_bytes);
  it("bar_columns", request.bar_columns);
  it("start_deadline", request.start_deadline);
}

}  // namespace

std::filesystem::path run_of(const StartRequest& request, const std::string& default_name) {
  if (!request.run_directory.empty()) {
    return request.run_directory;
  }
  const std::string& name = request.name_or(default_name);
  require_run_name(name);
  if (request.resume == "never") {
    return create_run(request.outdir, name);
  }
  if (request.resume == "must" && !find_run(request.outdir, name)) {
    throw CheckpointError(
        fmt::format("--resume must: there is no run '{}' in {}: start with --resume auto", name,
                    request.outdir.string()));
  }
  return open_run(request.outdir, name);
}

std::string to_json(const StartRequest& request) {
  nlohmann::ordered_json json;
  for_each(request, [&json](const char* name, const auto& member) { json[name] = member; });
  try {
    return json.dump(2) + "\n";
  } catch (const nlohmann::json::exception& /*error*/) {
    throw ConfigError("the command line or the run directory is not UTF-8: give it another name");
  }
}

StartRequest parse_request(std::string_view json, const std::string& place) {
  StartRequest request;
  try {
    const auto read = nlohmann::json::parse(json);
    for_each(request, [&read](const char* name, auto& member) { read.at(name).get_to(member); });
  } catch (const nlohmann::json::exception& /*error*/) {
    throw EnvironmentError(fmt::format(
        "{}: damaged; `gangway run` writes it before each start: give that command again", place));
  }
  return request;
}

StartRequest read_request(const std::filesystem::path& file) {
  return parse_request(read_small_file(file, kRequestLimitBytes).value_or(""), file.string());
}

}  // namespace gangway
