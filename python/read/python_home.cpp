// SPDX-License-Identifier: MIT
#include "python/read/python_home.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <elf.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/trusted_code.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns the folder above bin/.
fs::path prefix_of(const fs::path& place) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(place).lexically_normal();
  const fs::path plain = whole.has_filename() ? whole : whole.parent_path();
  return fs::is_directory(plain, ignored) ? plain : plain.parent_path().parent_path();
}

/// Returns the value of a line "home = /usr/bin" in an environment's pyvenv.cfg; empty: none.
std::string setting_in(const fs::path& file, std::string_view wanted) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    const auto trimmed = [](std::string text) {
      text.erase(0, text.find_first_not_of(" \t"));
      text.erase(text.find_last_not_of(" \t\r") + 1);
      return text;
    };
    if (trimmed(line.substr(0, equals)) == wanted) {
      return trimmed(line.substr(equals + 1));
    }
  }
  return {};
}

/// Returns the environment's folder, and the bases that its bin/python may link to.
std::vector<fs::path> bases_of(const fs::path& prefix) {
  std::vector<fs::path> bases{prefix};
  if (const std::string home = setting_in(prefix / "pyvenv.cfg", "home"); !home.empty()) {
    bases.push_back(fs::path(home).parent_path());
  }
  std::error_code error;
  if (const fs::path real = fs::canonical(prefix / "bin/python", error); !error) {
    bases.push_back(real.parent_path().parent_path());
  }
  return bases;
}

std::optional<fs::path> first_of(const std::vector<fs::path>& bases,
                                 const std::vector<std::string>& below) {
  for (const fs::path& base : bases) {
    for (const std::string& path : below) {
      if (is_there(base / path)) {
        return base / path;
      }
    }
  }
  return std::nullopt;
}

/// Returns the folders that imports search in: packages, then folders that its .pth files name, as
/// Python's module site adds them, then those of the bases. @param python  "python3.11"
std::vector<fs::path> package_folders(const fs::path& prefix, const std::vector<fs::path>& bases,
                                      const std::string& python) {
  const fs::path packages = prefix / "lib" / python / "site-packages";
  std::vector<fs::path> lists;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(packages, error)) {
    if (entry.path().extension() == ".pth") {
      lists.push_back(entry.path());
    }
  }
  std::ranges::sort(lists);
  std::vector<fs::path> folders{packages};
  for (const fs::path& list : lists) {
    std::ifstream lines(list);
    for (std::string line; std::getline(lines, line);) {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      if (!line.empty() && !line.starts_with('#') && !line.starts_with("import ")) {
        folders.push_back(packages / line);  // a whole path stays as it is
      }
    }
  }
  for (const fs::path& base : bases) {
    folders.push_back(base / "lib" / python / "site-packages");
    folders.push_back(base / "local/lib" / python / "dist-packages");
    folders.push_back(base / "lib/python3/dist-packages");
  }
  return folders;
}

/// Returns "3.12", from the folders below lib/; empty: unknown.
std::string version_of(const fs::path& prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("python3.") && is_there(entry.path() / "site-packages")) {
      return name.substr(std::string_view("python").size());
    }
  }
  return {};
}

/// Returns "3.11" for …/lib/python3.11/site-packages/torch, whose wheel fits that Python only;
/// empty: LibTorch of another kind.
std::string version_beside(const fs::path& torch) {
  const std::string name = torch.parent_path().parent_path().filename().string();
  return name.starts_with("python3.") ? name.substr(std::string_view("python").size()) : "";
}

/// Returns the folder above this program's bin/.
fs::path program_prefix() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
}

bool is_same_library(const fs::path& theirs, const fs::path& ours) {
  std::error_code ignored;
  if (fs::equivalent(theirs, ours, ignored)) {
    return true;
  }
  const std::string id = elf_build_id(theirs);
  return !id.empty() && id == elf_build_id(ours);
}

}  // namespace

fs::path torch_folder() {
  const fs::path beside = program_prefix().parent_path() / "torch";
  return is_there(beside / "version.py") ? beside : fs::path(GANGWAY_LIBTORCH_ROOT);
}

std::string elf_build_id(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!stream || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    stream.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof(segment)));
    stream.read(reinterpret_cast<char*>(&segment), sizeof(segment));
    constexpr Elf64_Xword kMostNotes = 1U << 20U;
    if (!stream || segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) {
      continue;
    }
    std::vector<char> notes(segment.p_filesz);
    stream.seekg(static_cast<std::streamoff>(segment.p_offset));
    stream.read(notes.data(), static_cast<std::streamsize>(notes.size()));
    const auto padded = [](Elf64_Word size) { return (std::size_t{size} + 3) & ~std::size_t{3}; };
    Elf64_Nhdr note{};
    for (std::size_t at = 0; stream && at + sizeof(note) <= notes.size();) {
      std::memcpy(&note, notes.data() + at, sizeof(note));
      const std::size_t content = at + sizeof(note) + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && content + note.n_descsz <= notes.size()) {
        std::string id;
        for (std::size_t byte = content; byte < content + note.n_descsz; ++byte) {
          id += fmt::format("{:02x}", static_cast<unsigned char>(notes[byte]));
        }
        return id;
      }
      at = content + padded(note.n_descsz);
    }
  }
  return {};
}

PythonHome find_python(const std::string& chosen, const Environment& environment,
                       const fs::path& torch) {
  const fs::path own = torch.parent_path().parent_path().parent_path().parent_path();
  const auto active = environment.find("VIRTUAL_ENV");
  const bool has_active = active != environment.end() && !active->second.empty();
  const fs::path place = !chosen.empty() ? chosen : has_active ? active->second : own.string();
  const std::string start = fmt::format("layout.python: {}", place.string());
  const fs::path prefix = prefix_of(place);
  const fs::path executable = prefix / "bin/python";
  if (!is_there(executable)) {
    throw ConfigError(fmt::format(
        "{}: has no bin/python; name the folder of a virtual environment, or its bin/python",
        start));
  }
  require_trusted(executable);
  const std::string version = version_of(prefix);
  std::string wanted = version_beside(torch);
  if (!version.empty() && !wanted.empty() && version != wanted) {
    throw ConfigError(fmt::format("{}: is Python {}, and this needs {}", start, version, wanted));
  }
  wanted = wanted.empty() ? version : wanted;
  std::vector<fs::path> bases = bases_of(prefix);
  bases.push_back(program_prefix());  // a wheel brings the library, which Debian's python3 lacks
  const std::string name = fmt::format("libpython{}.so.1.0", wanted);
  const auto library =
      first_of(bases, {"lib/" + name, "lib/x86_64-linux-gnu/" + name, "lib64/" + name});
  if (!library) {
    throw ConfigError(
        fmt::format("{}: there is no {} of it: its Python has to be {} with a shared "
                    "library (Debian: apt-get install libpython{})",
                    start, name, wanted, wanted));
  }
  const auto found = first_of(package_folders(prefix, bases, "python" + wanted), {"torch"});
  if (!found) {
    throw ConfigError(
        fmt::format("{}: has no PyTorch; install the build that Gangway uses there ({})", start,
                    torch.string()));
  }
  for (const char* file : {"lib/libtorch_cpu.so", "lib/libtorch_python.so"}) {
    if (!is_same_library(*found / file, torch / file)) {
      throw ConfigError(
          fmt::format("{}: its PyTorch is another build than the one that Gangway uses: {} and {} "
                      "differ; install the same wheel there",
                      start, (*found / file).string(), (torch / file).string()));
    }
  }
  require_trusted(*library);
  require_trusted(*found / "__init__.py");
  return {.executable = executable, .library = *library, .torch = *found};
}

}  // namespace gangway
