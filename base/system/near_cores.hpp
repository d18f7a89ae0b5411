// SPDX-License-Identifier: MIT
// Binds a thread to the cores near a PCI device. The device's data then need not cross between the
// machine's sockets. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

/// The folder in which Linux lists PCI devices by address.
inline constexpr const char* kPciDevices = "/sys/bus/pci/devices";

/// Binds the calling thread, and threads that it starts later, to the cores near a device. Memory
/// that they touch first lies near it, too. Does not change the result of usable_cores().
/// @param address  "0000:1b:00.0"
/// @return the near cores, as "0-27,56-83"; empty: no usable core is nearer than the others, or
/// the kernel does not report it
std::string stay_near(const std::filesystem::path& devices, const std::string& address);

}  // namespace gangway
