// SPDX-License-Identifier: MIT
#include "checkpoint/store/owner.hpp"

#include "base/errors.hpp"
#include "base/this_host.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/names.hpp"

namespace gangway::checkpoint {

namespace {

constexpr std::size_t kMaxOwnerBytes = 4096;

}  // namespace

Owner this_process() { return {own_process(), host_name()}; }

void write_owner(const std::filesystem::path& directory, const Owner& owner,
                 const FileSystem& files) {
  const nlohmann::ordered_json document = {{"host", owner.host},
                                           {"boot_id", owner.boot_id},
                                           {"pid_namespace", owner.pid_namespace},
                                           {"pid", owner.pid},
                                           {"start_ticks", owner.start_ticks}};
  // Not synced: after a power cut the process is dead in any case.
  write_new_file(files, directory / kOwnerName, document.dump(2) + "\n", Durability::kWhenever);
}

OwnerState judge(const Owner& owner, const Owner& self) {
  if (owner.boot_id != self.boot_id) {
    return owner.host == self.host ? OwnerState::kDead : OwnerState::kUnknown;
  }
  if (owner.pid_namespace != self.pid_namespace) {
    return OwnerState::kUnknown;
  }
  const std::uint64_t ticks = start_ticks_of(owner.pid);
  return ticks != 0 && ticks == owner.start_ticks ? OwnerState::kAlive : OwnerState::kDead;
}

OwnerState owner_state(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kOwnerName;
  try {
    const nlohmann::json document =
        parse_strict_json(read_stored_file(path, kMaxOwnerBytes), 1, path.string());
    const Owner owner{{.boot_id = document.at("boot_id").get<std::string>(),
                       .pid_namespace = document.at("pid_namespace").get<std::string>(),
                       .pid = document.at("pid").get<std::int64_t>(),
                       .start_ticks = document.at("start_ticks").get<std::uint64_t>()},
                      document.at("host").get<std::string>()};
    return judge(owner, this_process());
  } catch (const CheckpointError&) {
    return OwnerState::kDead;
  } catch (const nlohmann::json::exception&) {
    return OwnerState::kDead;
  }
}

}  // namespace gangway::checkpoint
