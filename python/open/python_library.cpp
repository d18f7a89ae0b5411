// SPDX-License-Identifier: MIT
#include "python/open/python_library.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/errors.hpp"
#include "python/read/python_home.hpp"

namespace gangway::python {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPluginName = "libgangway-python.so";

// The interpreter belongs to the process, starts on the compute thread and never ends.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
const PythonPlugin* open_plugin = nullptr;

/// Returns the folder of the package torch whose LibTorch this program has loaded.
fs::path loaded_torch() {
  Dl_info info{};
  const auto* symbol = reinterpret_cast<const void*>(&at::globalContext);
  if (::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
    throw EnvironmentError("the file that LibTorch was loaded from is not known to the linker");
  }
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return (error ? fs::path(info.dli_fname) : file).parent_path().parent_path();
}

/// Finds the plug-in beside the programs or where they were installed; for tests, beside their
/// folder.
fs::path plugin_file() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../lib", "../bin"}) {
    if (fs::exists(folder / place / kPluginName, error)) {
      return (folder / place / kPluginName).lexically_normal();
    }
  }
  throw EnvironmentError(fmt::format(
      "{} is not beside {}, and the job's networks are Python: build it (./launch/build "
      "release gangway-python)",
      kPluginName, folder.string()));
}

/// Marks lines of the user's Python among the program's own output.
void print_marked(const std::string& line) { fmt::print(stderr, "python  {}\n", line); }

/// @param flags  of dlopen
void* opened(const fs::path& file, int flags) {
  void* handle = ::dlopen(file.c_str(), flags);
  if (handle == nullptr) {
    const char* said = ::dlerror();
    throw EnvironmentError(
        fmt::format("{}: cannot be loaded: {}", file.string(), said == nullptr ? "?" : said));
  }
  return handle;
}

const PythonPlugin& begun_python(const Job& job, const Execution& how,
                                 const std::function<void(const std::string& line)>& tell,
                                 bool keeps_bytecode) {
  const Environment environment = read_environment();
  const PythonHome home = find_python(how.python, environment, loaded_torch());
  // Opened first and globally, because Python's extension modules do not name it (bpo-21536).
  (void)opened(home.library, RTLD_NOW | RTLD_GLOBAL);
  void* handle = opened(plugin_file(), RTLD_NOW | RTLD_LOCAL);
  using Function = const PythonPlugin&();
  auto* const function = reinterpret_cast<Function*>(::dlsym(handle, "gangway_python_plugin"));
  if (function == nullptr) {
    throw EnvironmentError(fmt::format("{} is of another build", kPluginName));
  }
  const PythonPlugin& plugin = function();
  plugin.begin(
      {.executable = home.executable.string(),
       .hides_gpus = job.numerics.device == DeviceKind::kCpu,
       .has_own_kernels = job.numerics.kernels != KernelChoice::kPytorch,
       .keeps_bytecode = keeps_bytecode && !environment.contains("PYTHONDONTWRITEBYTECODE"),
       .slow_seconds = how.timeout_seconds / 4.0,
       .tell = tell ? tell : print_marked});
  return plugin;
}

}  // namespace

void open_python(Job& job, const Execution& how,
                 const std::function<void(const std::string& line)>& tell, bool keeps_bytecode) {
  if (!job.computes_in_python()) {
    return;
  }
  if (open_plugin == nullptr) {
    open_plugin = &begun_python(job, how, tell, keeps_bytecode);
  }
  if (job.training.step.is_python()) {
    job.training.own = open_plugin->facts(job);
  }
}

std::unique_ptr<gan::Block> make_block(const PythonSpec& spec) {
  if (open_plugin == nullptr) {
    throw InvariantError(spec.key + " is Python, and no interpreter has begun");
  }
  return open_plugin->make_block(spec);
}

std::unique_ptr<PythonStep> make_python_step(const Job& job,
                                             const PerNetwork<gan::Network*>& networks) {
  if (open_plugin == nullptr) {
    throw InvariantError("training.step is Python, and no interpreter has begun");
  }
  return open_plugin->make_step(job, networks);
}

void save_python(gan::Network& network, const fs::path& file) {
  if (fs::exists(file)) {
    throw ConfigError(
        fmt::format("{}: exists already; remove it, or name another file", file.string()));
  }
  // Writes a temporary file beside it first, so that the file is never partial.
  const fs::path part =
      file.parent_path() / (file.stem().string() + ".part" + file.extension().string());
  try {
    open_plugin->save(network, part);
    fs::rename(part, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw;
  }
}

void note_packages(const fs::path& run_directory) {
  if (open_plugin != nullptr) {
    open_plugin->note_packages(run_directory / "packages.json");
  }
}

std::string raised_in_python(const std::exception& error) {
  return open_plugin == nullptr ? std::string() : open_plugin->raised_in(error);
}

void leave_with_python(int code) {
  if (open_plugin != nullptr) {
    open_plugin->end();
    (void)std::fflush(nullptr);
    ::_exit(code);
  }
}

}  // namespace gangway::python
