// SPDX-License-Identifier: MIT
// What a run stores about steering: its events, addresses and tokens (run/control/).
#include "run/control/steering_file.hpp"

#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "run/control/control_file.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

SteeringEvent steering(const std::string& command) {
  return {.unix_seconds = 1'700'000'000.125,
          .step = 12,
          .start = 2,
          .command = command,
          .who = "ann@node-a by unix",
          .arguments = {{"key", "checkpoint.keep"}, {"value", "a \"b\"\n"}},
          .answer = "done"};
}

TEST(SteeringFile, GivesBackWhatWasAppended) {
  const ScratchFolder folder;
  EXPECT_TRUE(read_steering(folder.path()).empty());
  append_steering(folder.path(), steering("set"));
  append_steering(folder.path(), steering("pause"));
  EXPECT_EQ(read_steering(folder.path()), (SteeringEvents{steering("set"), steering("pause")}));
}

TEST(SteeringFile, GoesOnBehindALineThatACrashHasCut) {
  const ScratchFolder folder;
  folder.write(kSteeringFile, "{\"time\":1,\"command\":\"pau");
  append_steering(folder.path(), steering("resume"));
  EXPECT_EQ(read_steering(folder.path()), (SteeringEvents{steering("resume")}));
}

TEST(SteeringFile, LeavesOutWhatIsNoEvent) {
  const ScratchFolder folder;
  folder.write(kSteeringFile, "[]\nnull\n{}\n{\"time\":\"x\",\"command\":\"pause\"}\n\xff\n");
  EXPECT_TRUE(read_steering(folder.path()).empty());
}

TEST(SteeringFile, SaysWhereItCannotBeWritten) {
  EXPECT_THROW(append_steering("/nonexistent", steering("set")), EnvironmentError);
}

std::uint32_t mode_of(const fs::path& path) {
  struct stat found = {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return found.st_mode & 0777U;
}

TEST(ControlFile, IsTheUsersAloneAndGoesAwayWithItsTokensAndSocket) {
  const ScratchFolder folder;
  const fs::path socket = folder.path() / "a.sock";
  const FileDescriptor listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  socket.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const ControlPlace place{.host = "node-a", .pid = 12, .address = "unix:" + socket.string()};
  folder.write(kSteerTokenFile, "of somebody who was killed");
  write_control(folder.path(), place, {.read = "r", .steer = "s"});
  EXPECT_EQ(read_control(folder.path()), place);
  EXPECT_EQ(read_token(folder.path() / kSteerTokenFile), "s");
  EXPECT_EQ(read_token(folder.path() / kReadTokenFile), "r");
  EXPECT_EQ(read_own_token(folder.path() / kReadTokenFile), "r");
  EXPECT_EQ(read_own_token(folder.path() / "none"), std::nullopt);
  const ScratchFolder strangers;
  fs::create_symlink(folder.path() / kReadTokenFile, strangers.path() / "link");
  EXPECT_THROW((void)read_own_token(strangers.path() / "link"), EnvironmentError);
  EXPECT_THROW((void)read_own_token(strangers.write("seen", "r")), EnvironmentError);
  for (const std::string_view name : {kControlFile, kReadTokenFile, kSteerTokenFile}) {
    EXPECT_EQ(mode_of(folder.path() / name), 0600U) << name;
  }
  remove_control(folder.path());
  EXPECT_TRUE(fs::is_empty(folder.path()));
  remove_control(folder.path());
}

TEST(ControlFile, NeverRemovesWhatIsNoSocket) {
  const ScratchFolder folder;
  const fs::path precious = folder.write("precious.sock", "not a socket");
  write_control(folder.path(), {.address = "unix:" + precious.string()}, {});
  remove_control(folder.path());
  EXPECT_TRUE(fs::exists(precious));
}

TEST(ControlFile, IsNoneWhereItIsDamaged) {
  const ScratchFolder folder;
  EXPECT_FALSE(read_control(folder.path()).has_value());
  for (const char* text : {"", "[]", "{\"address\": 7}", "\xff"}) {
    folder.write(kControlFile, text);
    EXPECT_FALSE(read_control(folder.path()).has_value()) << text;
  }
}

TEST(ControlFolder, IsOfTheUserAloneOrAnother) {
  const ScratchFolder folder;
  const fs::path own = control_folder(folder.path().string());
  EXPECT_EQ(own, folder.path() / "gangway");
  EXPECT_EQ(mode_of(own), 0700U);
  EXPECT_EQ(control_folder(folder.path().string()), own);
  const fs::path fallback = "/tmp/gangway-" + std::to_string(::geteuid());
  fs::permissions(own, fs::perms::all);
  EXPECT_EQ(control_folder(folder.path().string()), fallback) << "others may enter";
  EXPECT_EQ(control_folder(""), fallback);
  EXPECT_EQ(control_folder("/nonexistent"), fallback);
  EXPECT_EQ(control_folder("relative"), fallback);
  const fs::path deep = folder.path() / std::string(90, 'x');
  fs::create_directory(deep);
  EXPECT_EQ(control_folder(deep.string()), fallback) << "too long for a socket";
}

TEST(ControlFolder, IsAnotherWhereSomebodyWasFasterWithTheUsualName) {
  const ScratchFolder folder;
  const std::string usual = (folder.path() / ("gangway-" + std::to_string(::geteuid()))).string();
  fs::create_directory(usual);
  fs::permissions(usual, fs::perms::all);  // writable by every user
  const fs::path other = control_folder("", folder.path());
  EXPECT_TRUE(other.string().starts_with(usual + "-"));
  EXPECT_EQ(fs::status(other).permissions(), fs::perms::owner_all);
  EXPECT_EQ(control_folder("", folder.path()), other) << "no more of them at the next start";
}

TEST(ControlFolder, LosesTheSocketsOfKilledCoordinatorsAlone) {
  const ScratchFolder folder;
  const auto bound = [&](const char* name, bool listens, std::chrono::seconds age) {
    const std::string path = (folder.path() / name).string();
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_TRUE(!listens || ::listen(socket.get(), 1) == 0);
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return socket;
  };
  const FileDescriptor live = bound("live.sock", true, std::chrono::hours(2));
  const FileDescriptor dead = bound("dead.sock", false, std::chrono::hours(2));
  const FileDescriptor starting = bound("starting.sock", false, std::chrono::seconds(1));
  folder.write("old.txt", "not a socket");
  remove_dead_sockets(folder.path());
  EXPECT_TRUE(fs::exists(folder.path() / "live.sock"));
  EXPECT_FALSE(fs::exists(folder.path() / "dead.sock"));
  EXPECT_TRUE(fs::exists(folder.path() / "starting.sock"));
  EXPECT_TRUE(fs::exists(folder.path() / "old.txt"));
}

}  // namespace
}  // namespace gangway
