// SPDX-License-Identifier: MIT
// Constants of the control plane that both ends share: MPI tags, the lifeline's bytes, versions,
// deadlines.
//
// Control messages are `messages::Envelope`s (run/messages/messages.hpp) as bytes. They
// go by MPI_Isend to and from rank 0, with tag kControlTag, on the one communicator that is
// duplicated from MPI_COMM_WORLD at the start. Data between workers uses tags from
// comm/transport/message_tag.hpp, all below kControlTag, so the two never meet.
//
// Lifeline: a TCP connection that each worker opens to the coordinator. It begins with a greeting
// without words (run/liveness/greeting.hpp); the kernel closes it whenever the process dies.
// A worker sends one byte every kHeartbeatPeriod: kHeartbeat; kHeartbeatInWait while its compute
// thread waits for its lane (perhaps for a peer); kHeartbeatInStart while it makes progress before
// its Ready. A crashing worker sends the signal's number. After a failed run, a worker sends
// kKeeping while its copy of snapshots to the disk makes progress.
// The coordinator sends kHeartbeat as often while its event loop turns. It sends kAbandon or
// kAbandonAsIs when it ends the job against this worker's will. On kAbandon the worker copies its
// snapshots to the disk. On kAbandonAsIs it leaves them in memory, because the job starts again.
// On EOF or silence it does what its Welcome said. In all three cases it exits with code 3.
#pragma once

#include <chrono>
#include <cstdint>

namespace gangway {

inline constexpr std::uint32_t kProtocolVersion = 15;
inline constexpr int kControlTag = (1 << 30);
inline constexpr char kHeartbeat = '.';
inline constexpr char kHeartbeatInWait = ':';
inline constexpr char kHeartbeatInStart = '*';
inline constexpr char kKeeping = '+';
/// A worker's byte below this is the number of the signal that is about to end it.
inline constexpr char kEndOfSignals = ' ';
inline constexpr char kAbandon = '!';
inline constexpr char kAbandonAsIs = '-';
inline constexpr std::chrono::milliseconds kHeartbeatPeriod{500};
/// A worker that is silent for so long counts as hung: twenty missed heartbeats.
inline constexpr std::chrono::milliseconds kHeartbeatDeadline{10'000};
/// A host that acknowledges nothing on a lifeline for so long is cut off or without power: its
/// kernel would answer even with busy processes. Three packets in a row may be lost.
inline constexpr std::chrono::milliseconds kCutOffDeadline{1'500};
/// A shorter layout.timeout_seconds replaces kHeartbeatDeadline, down to this: a busy machine may
/// be late.
inline constexpr std::chrono::milliseconds kLeastHeartbeatDeadline{3'000};
/// Deadline of the last worker's Ready, from mpirun's start or a worker's last kHeartbeatInStart.
inline constexpr std::chrono::seconds kStartDeadline{120};
/// Time that a failed run has to copy its snapshots to the disk. A worker gives up earlier if it
/// writes no byte for kKeepingStall.
inline constexpr std::chrono::seconds kKeepingDeadline{600};
inline constexpr std::chrono::seconds kKeepingStall{15};

/// Wait of the coordinator before it blames an accused worker, because that worker may itself wait
/// for, and accuse, a third. Peers begin to wait within about a step of each other.
inline constexpr std::chrono::milliseconds kBlamePatience{5'000};

/// Deadline of a lease: bounds a wait that nothing else ends. Leases are granted one ahead, and the
/// lifeline shows rank 0's death at once.
inline constexpr std::chrono::seconds kLeaseDeadline{600};
/// Deadline of the first lease, long because another worker may list its data for hours. The
/// coordinator ends a start in which no worker makes progress.
inline constexpr std::chrono::hours kFirstLeaseDeadline{24};

/// At the end of a run, a disk counts as hung if it takes nothing for so many
/// layout.timeout_seconds. The limit is long because this is the last chance to save.
inline constexpr int kTimeoutsToWrite = 10;

}  // namespace gangway
