// The ends of the bench's exchanges on roscpp. How the bench talks with an end is told in bench/README.md.
//
//   ends ping|pong|source|sink --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE]
//   ends idle|first
#include <ros/ros.h>
#include <std_msgs/String.h>
#include <std_msgs/UInt8MultiArray.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Message = std_msgs::UInt8MultiArray;

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

static uint64_t number_of(const Message& message) {
  uint64_t number = 0;
  std::memcpy(&number, message.data.data(), std::min(sizeof number, message.data.size()));
  return number;
}

static void set_number(Message& message, uint64_t number) {
  std::memcpy(message.data.data(), &number, std::min(sizeof number, message.data.size()));
}

class Options {
 public:
  Options(int argc, char** argv) : role(argc > 1 ? argv[1] : "") {
    for (int i = 2; i + 1 < argc; i += 2) values_[argv[i]] = argv[i + 1];
    size = number("--size");
    warm_up = number("--warm-up");
    total = warm_up + number("--count");
    depth = static_cast<uint32_t>(number("--depth"));
  }

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  std::string role;
  uint64_t size, warm_up, total;
  uint32_t depth;

 private:
  uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    return value.empty() ? 0 : std::stoull(value);
  }

  std::map<std::string, std::string> values_;
};

// When messages were sent or received; those of the warm-up are left out.
class Stamps {
 public:
  explicit Stamps(const Options& options) : warm_up_(options.warm_up) {
    words_.reserve(2 * (options.total - options.warm_up));
  }

  void take(uint64_t number) {
    if (number < warm_up_) return;
    words_.push_back(number);
    words_.push_back(nanoseconds());
  }

  void write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words_.data()), static_cast<std::streamsize>(8 * words_.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

 private:
  uint64_t warm_up_;
  std::vector<uint64_t> words_;
};

static void say_ready() { std::cout << "ready" << std::endl; }

static void wait_for_subscriber(const ros::Publisher& publisher) {
  while (ros::ok() && publisher.getNumSubscribers() == 0) ros::WallDuration(0.005).sleep();
}

static void wait_for_go() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("the bench has gone");
}

// Serves the graph until the bench closes our standard input, or a callback has asked for the end.
static void serve() {
  std::thread([] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    ros::requestShutdown();
  }).detach();
  ros::spin();
}

static Message message_of(const Options& options) {
  Message message;
  message.data.resize(options.size);
  return message;
}

static ros::TransportHints no_delay() { return ros::TransportHints().tcpNoDelay(); }

static void ping(const Options& options) {
  Stamps sent(options), received(options);
  Message message = message_of(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>("ping", options.depth);
  const auto send = [&](uint64_t number) {
    set_number(message, number);
    sent.take(number);
    publisher.publish(message);
  };
  const boost::function<void(const Message::ConstPtr&)> answered = [&](const Message::ConstPtr& answer) {
    const uint64_t number = number_of(*answer);
    received.take(number);
    if (number + 1 == options.total) return ros::requestShutdown();
    send(number + 1);
  };
  const auto subscriber = node.subscribe<Message>("pong", options.depth, answered, ros::VoidConstPtr(), no_delay());
  wait_for_subscriber(publisher);
  say_ready();
  wait_for_go();
  send(0);
  serve();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

static void pong(const Options& options) {
  Stamps received(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>("pong", options.depth);
  const boost::function<void(const Message::ConstPtr&)> answer = [&](const Message::ConstPtr& message) {
    received.take(number_of(*message));
    publisher.publish(message);
  };
  const auto subscriber = node.subscribe<Message>("ping", options.depth, answer, ros::VoidConstPtr(), no_delay());
  wait_for_subscriber(publisher);
  say_ready();
  serve();
  received.write(options.text("--received"));
}

static void source(const Options& options) {
  Stamps sent(options);
  Message message = message_of(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>("burst", options.depth);
  wait_for_subscriber(publisher);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options.total; ++number) {
    set_number(message, number);
    sent.take(number);
    publisher.publish(message);
  }
  serve();
  sent.write(options.text("--sent"));
}

static void sink(const Options& options) {
  Stamps received(options);
  ros::NodeHandle node;
  const boost::function<void(const Message::ConstPtr&)> take = [&](const Message::ConstPtr& message) {
    const uint64_t number = number_of(*message);
    received.take(number);
    if (number + 1 == options.total) ros::requestShutdown();
  };
  const auto subscriber = node.subscribe<Message>("burst", options.depth, take, ros::VoidConstPtr(), no_delay());
  say_ready();
  serve();
  received.write(options.text("--received"));
}

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
  if (options.role == "ping") return ping(options), 0;
  if (options.role == "pong") return pong(options), 0;
  if (options.role == "source") return source(options), 0;
  if (options.role == "sink") return sink(options), 0;
  if (options.role == "idle") return idle(), 0;
  if (options.role == "first") return first(), 0;
  std::cerr << "which end: ping, pong, source, sink, idle or first?" << std::endl;
  return 2;
}

int main(int argc, char** argv) {
  // Otherwise the thread that reads would hold C's standard input while the process ends.
  std::ios::sync_with_stdio(false);
  const Options options(argc, argv);
  ros::init(argc, argv, options.role.empty() ? "end" : options.role);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
