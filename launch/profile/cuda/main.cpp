// SPDX-License-Identifier: MIT
// gangway-profile-cuda: `gangway profile` of jobs that compute on a GPU. A program of its own,
// since the others load nothing of CUDA's.
#include <cstdlib>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "launch/profile/profile_command.hpp"
#include "worker/cuda/cuda_device.hpp"

namespace {

/// In the name of the command that was typed.
int report(const std::string& message, gangway::ExitCode code) {
  fmt::print(stderr, "gangway: {}\n", message.substr(0, message.find('\n')));
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app("Gangway: what a job costs on a GPU", "gangway");
  int code = static_cast<int>(gangway::ExitCode::kDone);
  gangway::launch::add_profile_command(
      app,
      {.device = gangway::DeviceKind::kCuda,
       .make =
           [](const gangway::JobSpec& job, const gangway::worker::Neighbours& neighbours,
              int /*worker*/) {
             return gangway::worker::make_cuda_device(job, neighbours, [](const std::string&) {});
           },
       .typed = {argv + 1, argv + argc}},
      code);
  try {
    app.parse(argc, argv);
    return code;
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + "; see --help", gangway::ExitCode::kUsage);
  } catch (const gangway::Error& error) {
    return report(error.what(), error.code());
  } catch (const std::exception& error) {
    return report(std::string("internal: ") + error.what(), gangway::ExitCode::kInternal);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // As a worker's (launch/run/train.cpp): sums in one order from run to run.
  (void)::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  return run(argc, argv);
}
