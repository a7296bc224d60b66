// Ends of the bench's exchanges on Fast DDS, only over UDP. bench/README.md describes the protocol between an end and
// the bench.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ]
//     [--qos reliable|best-effort|keep-all]
//   (serve and call-persistent ignore --rate and --qos)
//   ends idle --size BYTES --depth N
#include <exception>
#include <iostream>

#include "calls.hpp"
#include "roles.hpp"

static void run(const Options& options) {
  const std::pair<const char*, void (*)(const Options&)> roles[] = {
      {"ping", ping}, {"pong", pong}, {"source", source}, {"sink", sink}, {"idle", idle},
      {"serve", serve}, {"call-persistent", call}};
  for (const auto& [name, role] : roles) {
    if (options.role == name) return role(options);
  }
  throw std::runtime_error("unknown role '" + options.role + "'");
}

int main(int argc, char** argv) {
  try {
    run(Options(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
