// The ends of the bench's exchanges on roscpp. How the bench talks with an end is told in bench/README.md.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE]
//   ends idle|first
#include <ros/ros.h>
#include <std_msgs/String.h>
#include <std_msgs/UInt8MultiArray.h>
#include <std_srvs/SetBool.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
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

// Asks for the end once the bench has closed our standard input.
static void end_with_bench() {
  std::thread([] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    ros::requestShutdown();
  }).detach();
}

// Serves the graph until the bench closes our standard input, or a callback has asked for the end.
static void serve() {
  end_with_bench();
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

static void answer() {
  ros::NodeHandle node;
  const boost::function<bool(std_srvs::SetBool::Request&, std_srvs::SetBool::Response&)> echo =
      [](std_srvs::SetBool::Request& request, std_srvs::SetBool::Response& response) {
        response.success = request.data;
        return true;
      };
  const auto service = node.advertiseService("switch", echo);
  say_ready();
  serve();
}

// Asks one thing after the other, each number in turn, until all are asked or the bench has closed our standard input.
// What is not answered, or wrongly, has no second stamp.
static void ask(const Options& options, const std::function<bool(uint64_t)>& answered) {
  Stamps sent(options), received(options);
  say_ready();
  wait_for_go();
  end_with_bench();
  for (uint64_t number = 0; number < options.total && ros::ok(); ++number) {
    sent.take(number);
    if (answered(number)) received.take(number);
  }
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

static bool call(ros::ServiceClient& client, uint64_t number) {
  std_srvs::SetBool service;
  service.request.data = number % 2 == 0;
  return client.call(service) && service.response.success == service.request.data;
}

static void call_once(const Options& options) {
  ros::NodeHandle node;
  ros::ServiceClient client = node.serviceClient<std_srvs::SetBool>("switch", false);
  client.waitForExistence();
  ask(options, [&](uint64_t number) { return call(client, number); });
}

static void call_persistent(const Options& options) {
  ros::NodeHandle node;
  ros::service::waitForService("switch");
  ros::ServiceClient client = node.serviceClient<std_srvs::SetBool>("switch", true);
  ask(options, [&](uint64_t number) { return call(client, number); });
}

// Sets a parameter with each even number, and gets it with the odd number that follows.
template <typename Value>
static void set_and_get(const Options& options, const std::function<Value(uint64_t)>& value_of) {
  ros::NodeHandle node;
  Value value;
  ask(options, [&](uint64_t number) {
    if (number % 2 == 0) return node.setParam("value", value_of(number)), true;
    return node.getParam("value", value) && value == value_of(number - 1);
  });
}

static void param(const Options& options) {
  if (options.size == sizeof(int32_t)) {
    return set_and_get<int>(options, [](uint64_t number) { return static_cast<int>(number); });
  }
  set_and_get<std::string>(options, [&](uint64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(options.size - std::min<size_t>(options.size, digits.size()), '0') + digits;
  });
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
  ros::init(argc, argv, name);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
