// The ends of the bench's exchanges on Fast DDS, over UDP alone. How the bench talks with an end is told in
// bench/README.md.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ]
//     [--qos reliable|best-effort|keep-all]
//   ends idle --size BYTES --depth N
#include <exception>
#include <iostream>

#include "roles.hpp"

static void play(const Options& options) {
  const std::pair<const char*, void (*)(const Options&)> roles[] = {
      {"ping", ping}, {"pong", pong}, {"source", source}, {"sink", sink}, {"idle", idle}};
  for (const auto& [name, role] : roles) {
    if (options.role == name) return role(options);
  }
  throw std::runtime_error("there is no role '" + options.role + "'");
}

int main(int argc, char** argv) {
  try {
    play(Options(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
