// SPDX-License-Identifier: MIT
#include "checkpoint/store/retention.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/owner.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/checkpoint/write_worker_file.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Retention : public ::testing::Test {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      list.push_back(entry.path().filename().string());
    }
    std::sort(list.begin(), list.end());
    return list;
  }
  void commit_steps(std::initializer_list<std::int64_t> steps) {
    for (const std::int64_t step : steps) {
      (void)commit_sample(folder.path(), step);
    }
  }
  ScratchFolder folder{"/dev/shm"};
};

TEST_F(Retention, KeepsTheNewest) {
  commit_steps({1, 2, 3, 4});
  EXPECT_EQ(remove_old(folder.path(), {.keep = 2}).size(), 2U);
  EXPECT_THAT(names(), ElementsAre("step-000000003", "step-000000004"));
  EXPECT_THAT(remove_old(folder.path(), {.keep = 2}), IsEmpty());
}

TEST_F(Retention, DoesNotCountADamagedOneAsKept) {
  commit_steps({1, 2, 3});
  fs::remove(folder.path() / "step-000000003" / worker_file_name(0, 2));
  (void)remove_old(folder.path(), {.keep = 1});
  EXPECT_THAT(names(), ElementsAre("step-000000002", "step-000000003"));
}

TEST_F(Retention, TouchesNothingThatItCannotRead) {
  commit_steps({1, 2, 3, 4});
  fs::remove(folder.path() / "step-000000001" / kManifestName);
  write_text(folder.path() / "step-000000002" / "thesis.txt", "");
  fs::create_directory(folder.path() / "step-000000000");
  write_text(folder.path() / "step-000000003.bak", "");
  (void)remove_old(folder.path(), {.keep = 1});
  EXPECT_THAT(names(), ElementsAre("step-000000000", "step-000000001", "step-000000002",
                                   "step-000000003.bak", "step-000000004"));
  EXPECT_TRUE(fs::exists(folder.path() / "step-000000002" / worker_file_name(0, 2)));
}

TEST_F(Retention, DoesNotFollowALinkInAnOldPlace) {
  const ScratchFolder elsewhere{"/dev/shm"};
  const fs::path target = commit_sample(elsewhere.path(), 1);
  fs::create_directory_symlink(target, folder.path() / "step-000000001");
  commit_steps({2});
  (void)remove_old(folder.path(), {.keep = 1});
  EXPECT_EQ(verify_checkpoint(target).step, 1);
}

TEST_F(Retention, RefusesToKeepNothing) {
  EXPECT_THROW((void)remove_old(folder.path(), {.keep = 0}), InvariantError);
}

TEST_F(Retention, LeavesTheTemporaryOfALivingProcess) {
  const fs::path temporary = begin_checkpoint(folder.path(), 1);
  EXPECT_THAT(remove_stale_temporaries(folder.path()), IsEmpty());
  EXPECT_TRUE(fs::exists(temporary / kOwnerName));
}

TEST_F(Retention, RemovesTheTemporaryOfADeadProcess) {
  Owner dead = this_process();
  dead.start_ticks += 1;  // another process has the process id now
  const fs::path temporary = begin_checkpoint(folder.path(), 1);
  fs::remove(temporary / kOwnerName);
  write_owner(temporary, dead);
  (void)write_worker_file(temporary, {.step = 1}, {});
  EXPECT_THAT(remove_stale_temporaries(folder.path()), ElementsAre(temporary));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Retention, RemovesATemporaryWhoseOwnerNeverSignedAndHalfDeletedCheckpoints) {
  fs::create_directory(folder.path() / temporary_name(3));
  fs::rename(commit_sample(folder.path(), 1), folder.path() / doomed_name(1));
  EXPECT_EQ(remove_stale_temporaries(folder.path()).size(), 2U);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Retention, LeavesForeignThingsThatLookLikeTemporaries) {
  fs::create_directory(folder.path() / ".tmp-step-000000001");
  const fs::path with_notes = folder.path() / temporary_name(2);
  fs::create_directory(with_notes);
  write_text(with_notes / "notes.txt", "");
  const ScratchFolder elsewhere{"/dev/shm"};
  write_text(elsewhere.path() / kManifestName, "");
  fs::create_directory_symlink(elsewhere.path(), folder.path() / temporary_name(4));
  EXPECT_THAT(remove_stale_temporaries(folder.path()), IsEmpty());
  EXPECT_TRUE(fs::exists(with_notes / "notes.txt"));
  EXPECT_TRUE(fs::exists(elsewhere.path() / kManifestName));
  EXPECT_EQ(names().size(), 3U);
}

TEST_F(Retention, HasNothingToDoWithoutAFolder) {
  EXPECT_THAT(remove_stale_temporaries(folder.path() / "absent"), IsEmpty());
  EXPECT_THAT(remove_old(folder.path() / "absent", {.keep = 1}), IsEmpty());
}

}  // namespace
}  // namespace gangway::checkpoint
