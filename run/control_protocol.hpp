// SPDX-License-Identifier: MIT
// Constants of the control plane that both ends must share: tags on MPI, the lifeline's framing,
// versions.
//
// Control messages are `messages::Envelope`s (run/messages/messages.hpp) as bytes, sent with
// MPI_Isend to and from rank 0 on the one communicator duplicated from MPI_COMM_WORLD at the start,
// with tag kControlTag. Data between workers uses tags from comm/transport/message_tag.hpp, all
// below kControlTag, so the two never meet.
//
// Lifeline: a TCP connection that each worker opens to the coordinator, with a greeting
// (run/liveness/greeting.hpp) of no words. Then the worker sends one byte every kHeartbeatPeriod:
// kHeartbeat, or kHeartbeatInWait while its compute thread waits for its lane, and so for a peer
// perhaps, or kHeartbeatInStart as long as it gets on with what comes before its Ready (data are
// listed, networks built); when a crash ends it, one byte with the number of the signal; and when
// the run has failed and it copies its snapshots to the disk, kKeeping now and then as long as that
// gets on. The kernel closes it when the process dies, whatever killed it. The coordinator sends a
// kHeartbeat as often while its event loop turns, and one byte when the job ends without this
// worker's consent: kAbandon, upon which the worker copies its snapshots to the disk, or
// kAbandonAsIs, upon which they stay in memory alone, as the job starts again. Upon EOF or silence
// it does what it was told in its Welcome. All end it with exit code 3.
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
/// A worker silent for so long is hung: twenty missed heartbeats.
inline constexpr std::chrono::milliseconds kHeartbeatDeadline{10'000};
/// A host that acknowledges nothing of a lifeline for so long is cut off, or has no power: its
/// kernel would answer however busy its processes are. Three packets in a row may be lost.
inline constexpr std::chrono::milliseconds kCutOffDeadline{1'500};
/// With a shorter layout.timeout_seconds that counts, but no less: a busy machine is no silence.
inline constexpr std::chrono::milliseconds kLeastHeartbeatDeadline{3'000};
/// From mpirun's start, or the last sign that a worker gets on with its own, to the last worker's
/// Ready.
inline constexpr std::chrono::seconds kStartDeadline{120};
/// Time that a failed run has to copy its snapshots to the disk. A worker that writes no byte for
/// kKeepingStall gives up before.
inline constexpr std::chrono::seconds kKeepingDeadline{600};
inline constexpr std::chrono::seconds kKeepingStall{15};

/// How long the coordinator waits before it blames an accused worker: that worker may wait for a
/// third one, and says so. Peers begin to wait within about a step of one another.
inline constexpr std::chrono::milliseconds kBlamePatience{5'000};

/// A lease is granted when all are ready, and then one ahead; the lifeline tells of rank 0's death
/// at once, so this only bounds a wait that nothing else ends.
inline constexpr std::chrono::seconds kLeaseDeadline{600};
/// Deadline of the first lease: another worker may list its data for hours. The coordinator ends a
/// start in which no worker makes progress.
inline constexpr std::chrono::hours kFirstLeaseDeadline{24};

/// At the end of a run, a disk that takes nothing for as long as this many layout.timeout_seconds
/// hangs: it is the last chance to save.
inline constexpr int kTimeoutsToWrite = 10;

}  // namespace gangway
