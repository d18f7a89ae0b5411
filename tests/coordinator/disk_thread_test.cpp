// SPDX-License-Identifier: MIT
#include "coordinator/io/disk_thread.hpp"

#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DiskThread, FollowsUpInOrderOnTheThreadThatPolls) {
  DiskThread disk;
  std::vector<int> followed;
  const auto poller = std::this_thread::get_id();
  for (int i = 0; i < 3; ++i) {
    disk.submit([&followed, i, poller]() -> DiskThread::Follow {
      EXPECT_NE(std::this_thread::get_id(), poller);
      return [&followed, i] { followed.push_back(i); };
    });
  }
  disk.finish(seconds(10));
  EXPECT_TRUE(followed.empty());
  disk.poll();
  EXPECT_EQ(followed, (std::vector{0, 1, 2}));
}

TEST(DiskThread, LetsItsOwnerEndWhileADiskHangs) {
  auto disk_answers = std::make_shared<std::promise<void>>();
  auto has_begun = std::make_shared<std::promise<void>>();
  auto has_ended = std::make_shared<std::promise<void>>();
  {
    DiskThread disk;
    disk.submit([=]() -> DiskThread::Follow {
      has_begun->set_value();
      disk_answers->get_future().wait();
      has_ended->set_value();
      return [] {};
    });
    disk.submit([]() -> DiskThread::Follow {
      ADD_FAILURE() << "begun after the end";
      return [] {};
    });
    has_begun->get_future().wait();
    disk.finish(milliseconds(1));
    disk.poll();
  }
  disk_answers->set_value();
  has_ended->get_future().wait();
}

}  // namespace
}  // namespace gangway::coordinator
