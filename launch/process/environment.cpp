// SPDX-License-Identifier: MIT
#include "launch/process/environment.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::launch {

std::optional<std::string> find_variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> exported_variables(const Environment& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    if (name == "GANGWAY_BIN" || name == "GANGWAY_TYPED") {
      continue;  // only for Python tools: places and names of this host's programs
    }
    if (name.starts_with("GANGWAY_") || name.starts_with("NCCL_") ||
        name == "CUDA_VISIBLE_DEVICES" || name == "LD_LIBRARY_PATH" || moves_kernels(name)) {
      names.push_back(name);
    }
  }
  return names;
}

std::string networks_of_the_hosts(const Environment& environment) {
  return find_variable(environment, "OMPI_MCA_btl_tcp_if_include")
      .value_or(find_variable(environment, "OMPI_MCA_oob_tcp_if_include").value_or(""));
}

void let_root_use_mpirun() {
  if (::geteuid() == 0) {
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
      ::setenv(name, "1", /*overwrite=*/0);
    }
  }
}

std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::filesystem::path share_folder() {
  const std::filesystem::path installed = program_folder().parent_path() / "share/gangway";
  return std::filesystem::exists(installed) ? installed : std::filesystem::path(GANGWAY_SHARE_DIR);
}

void require_programs(DeviceKind device) {
  for (const char* name :
       {"gangway-coordinator",
        device == DeviceKind::kCuda ? "gangway-worker-cuda" : "gangway-worker"}) {
    if (!std::filesystem::exists(program_folder() / name)) {
      throw EnvironmentError(fmt::format("{} is missing: build all programs (./launch/build)",
                                         (program_folder() / name).string()));
    }
  }
}

namespace {

/// @param path  looked up in PATH unless it has a slash
[[noreturn]] void execute(const std::string& path, const std::string& name,
                          const std::vector<std::string>& arguments, const char* remedy) {
  std::vector<char*> words{const_cast<char*>(name.c_str())};  // execvp does not write
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);
  ::execvp(path.c_str(), words.data());
  throw EnvironmentError(
      fmt::format("{} cannot be started: {}: {}", path, std::strerror(errno), remedy));
}

}  // namespace

void become(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& name) {
  const std::string path = (program_folder() / program).string();
  execute(path, name.empty() ? path : name, arguments, "build all programs (./launch/build)");
}

void become_python(const std::vector<std::string>& typed, const Environment& environment) {
  const std::filesystem::path share = share_folder();
  const std::filesystem::path checkout = share.parent_path() / ".venv/bin/python";
  const std::string active = find_variable(environment, "VIRTUAL_ENV").value_or("");
  std::string python = active.empty() ? "python3" : active + "/bin/python";
  python = std::filesystem::exists(checkout) ? checkout.string() : python;
  python = find_variable(environment, "GANGWAY_PYTHON").value_or(python);
  const auto before = find_variable(environment, "PYTHONPATH");
  ::setenv("PYTHONPATH", ((share / "python").string() + (before ? ":" + *before : "")).c_str(), 1);
  ::setenv("GANGWAY_BIN", program_folder().c_str(), 1);
  ::setenv("GANGWAY_TYPED", typed.front().c_str(), 1);
  // -P: no module comes from the current folder, which may be a stranger's.
  std::vector<std::string> arguments{"-P", "-m", "gangway.tools"};
  arguments.insert(arguments.end(), typed.begin() + 1, typed.end());
  execute(python, python, arguments, "name an interpreter in GANGWAY_PYTHON");
}

}  // namespace gangway::launch
