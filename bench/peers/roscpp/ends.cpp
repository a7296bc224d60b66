// Ends of the bench's exchanges on roscpp. bench/README.md describes the protocol between an end and the bench.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ] [--watermark N]
//     [--sizes B,B,..] [--topics N] [--subscribers N] [--touch none|write|read]
//   ends idle|first
#include <ros/ros.h>
#include <std_msgs/String.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "pairs.hpp"
#include "small.hpp"
#include "streams.hpp"

static void idle() {
  ros::NodeHandle node;
  const boost::function<void(const std_msgs::String::ConstPtr&)> nothing = [](const std_msgs::String::ConstPtr&) {};
  const auto publisher = node.advertise<std_msgs::String>("status", 10);
  const auto subscriber = node.subscribe<std_msgs::String>("commands", 10, nothing);
  ros::spin();
}

// Measures the time from subscribing until the latched message arrives.
static void first() {
  ros::NodeHandle node;
  uint64_t received_at = 0;
  const boost::function<void(const std_msgs::String::ConstPtr&)> on_message = [&](const std_msgs::String::ConstPtr&) {
    received_at = nanoseconds();
    ros::requestShutdown();
  };
  const uint64_t subscribed_at = nanoseconds();
  const auto subscriber = node.subscribe<std_msgs::String>("latched", 1, on_message, ros::VoidConstPtr(), no_delay());
  ros::spin();
  if (received_at == 0) throw std::runtime_error("no latched message arrived");
  std::cout << "first " << received_at - subscribed_at << std::endl;
}

static int run(const Options& options) {
  if (options.role == "ping") return options.rate > 0 ? flow(options) : ping(options), 0;
  if (options.role == "pong") return pong(options), 0;
  if (options.role == "source") return source(options), 0;
  if (options.role == "sink") return sink(options), 0;
  if (options.role == "talker") return talker(options), 0;
  if (options.role == "listener") return listener(options), 0;
  if (options.role == "para-in") return para_in(options), 0;
  if (options.role == "para-add") return para_add(options), 0;
  if (options.role == "add") return add(options), 0;
  if (options.role == "serve") return serve_switch(), 0;
  if (options.role == "call") return call_once(options), 0;
  if (options.role == "call-persistent") return call_persistent(options), 0;
  if (options.role == "param") return param(options), 0;
  if (options.role == "idle") return idle(), 0;
  if (options.role == "first") return first(), 0;
  std::cerr << "unknown role '" << options.role << "'" << std::endl;
  return 2;
}

int main(int argc, char** argv) {
  // Otherwise the reading thread would hold the lock of C's standard input while the process exits.
  std::ios::sync_with_stdio(false);
  const Options options(argc, argv);
  std::string name = options.role.empty() ? "end" : options.role;
  std::replace(name.begin(), name.end(), '-', '_');
  // There may be several sinks, and node names are unique.
  ros::init(argc, argv, name, name == "sink" ? ros::init_options::AnonymousName : 0);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
