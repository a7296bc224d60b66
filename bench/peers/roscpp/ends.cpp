// The ends of the bench's exchanges on roscpp. How the bench talks with an end is told in bench/README.md.
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

// How long it takes from subscribing to the message that a publisher has latched.
static void first() {
  ros::NodeHandle node;
  uint64_t came = 0;
  const boost::function<void(const std_msgs::String::ConstPtr&)> take = [&](const std_msgs::String::ConstPtr&) {
    came = nanoseconds();
    ros::requestShutdown();
  };
  const uint64_t asked = nanoseconds();
  const auto subscriber = node.subscribe<std_msgs::String>("latched", 1, take, ros::VoidConstPtr(), no_delay());
  ros::spin();
  if (came == 0) throw std::runtime_error("no latched message came");
  std::cout << "first " << came - asked << std::endl;
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
  if (options.role == "serve") return answer(), 0;
  if (options.role == "call") return call_once(options), 0;
  if (options.role == "call-persistent") return call_persistent(options), 0;
  if (options.role == "param") return param(options), 0;
  if (options.role == "idle") return idle(), 0;
  if (options.role == "first") return first(), 0;
  std::cerr << "there is no role '" << options.role << "'" << std::endl;
  return 2;
}

int main(int argc, char** argv) {
  // Otherwise the thread that reads would hold C's standard input while the process ends.
  std::ios::sync_with_stdio(false);
  const Options options(argc, argv);
  std::string name = options.role.empty() ? "end" : options.role;
  std::replace(name.begin(), name.end(), '-', '_');
  // There may be several sinks, and a node's name is its own.
  ros::init(argc, argv, name, name == "sink" ? ros::init_options::AnonymousName : 0);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
