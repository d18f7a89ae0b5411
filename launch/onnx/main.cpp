// SPDX-License-Identifier: MIT
// gangway-onnx CHECKPOINT FILE NETWORK average|last: writes a network as ONNX. Called by `gangway
// checkpoints export`. A program of its own, because `gangway` and LibTorch do without Protobuf.
#include <exception>
#include <iostream>
#include <string>

#include "base/errors.hpp"
#include "base/system/output_check.hpp"
#include "base/text/utf8.hpp"
#include "launch/onnx/export_onnx.hpp"

namespace {

int report(const std::string& message, gangway::ExitCode code) {
  std::cerr << "gangway: " << gangway::plain(message) << std::endl;
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    return report("gangway-onnx: see `gangway checkpoints export --help`",
                  gangway::ExitCode::kUsage);
  }
  try {
    gangway::launch::export_onnx({.checkpoint = argv[1],
                                  .file = argv[2],
                                  .network = argv[3],
                                  .last = std::string(argv[4]) == "last"});
    gangway::require_output_taken();
    return 0;
  } catch (const gangway::Error& error) {
    return report(error.what(), error.code());
  } catch (const std::exception& error) {
    return report(std::string("internal: ") + error.what(), gangway::ExitCode::kInternal);
  }
}
