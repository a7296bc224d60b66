// The ends of the bench's exchanges on roscpp. How the bench talks with an end is told in bench/README.md.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ] [--watermark N]
//     [--sizes B,B,..] [--topics N] [--subscribers N] [--touch none|write|read]
//   ends idle|first
#include <ros/callback_queue.h>
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
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Message = std_msgs::UInt8MultiArray;

constexpr uint64_t second = 1000000000u;

// bench/interfaces/bench_msgs/msg/TwoInts.msg, as ROS's generator would have it.
struct TwoInts {
  int32_t a = 0, b = 0;
};

namespace ros {
namespace message_traits {
template <>
struct IsFixedSize<TwoInts> : TrueType {};
template <>
struct MD5Sum<TwoInts> {
  static const char* value() { return "ef8322123148e475e3e93a1f609b2f70"; }
  static const char* value(const TwoInts&) { return value(); }
};
template <>
struct DataType<TwoInts> {
  static const char* value() { return "bench_msgs/TwoInts"; }
  static const char* value(const TwoInts&) { return value(); }
};
template <>
struct Definition<TwoInts> {
  static const char* value() { return "int32 a\nint32 b\n"; }
  static const char* value(const TwoInts&) { return value(); }
};
}  // namespace message_traits
namespace serialization {
template <>
struct Serializer<TwoInts> {
  template <typename Stream, typename T>
  static void allInOne(Stream& stream, T message) {
    stream.next(message.a);
    stream.next(message.b);
  }
  ROS_DECLARE_ALLINONE_SERIALIZER
};
}  // namespace serialization
}  // namespace ros

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
    rate = number("--rate");
    watermark = std::max<uint64_t>(1, number("--watermark"));
    topics = number("--topics");
    subscribers = std::max<uint64_t>(1, number("--subscribers"));
    std::istringstream list(text("--sizes"));
    for (std::string one; std::getline(list, one, ',');) sizes_.push_back(std::stoull(one));
  }

  // Bytes of a message: of each size there are as many, one after the other.
  uint64_t size_of(uint64_t number) const {
    if (sizes_.empty()) return size;
    const uint64_t each = std::max<uint64_t>(1, total / sizes_.size());
    return sizes_[std::min<uint64_t>(number / each, sizes_.size() - 1)];
  }

  bool writes() const { return reads() || text("--touch") == "write"; }
  bool reads() const { return text("--touch") == "read"; }

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  std::string role;
  uint64_t size, warm_up, total, rate, watermark, topics, subscribers;
  uint32_t depth;

 private:
  uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    return value.empty() ? 0 : std::stoull(value);
  }

  std::map<std::string, std::string> values_;
  std::vector<uint64_t> sizes_;
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

// When messages are due: one that is late shifts no other. Without a rate each is due at once.
class Pace {
 public:
  explicit Pace(const Options& options) : rate_(options.rate) {}

  uint64_t due(uint64_t number) {
    if (rate_ == 0) return 0;
    if (start_ == 0) start_ = nanoseconds();
    return start_ + number * second / rate_;
  }

  void wait(uint64_t number) {
    const uint64_t at = due(number);
    const timespec time{static_cast<time_t>(at / second), static_cast<long>(at % second)};
    while (nanoseconds() < at && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == 0) {
    }
  }

 private:
  uint64_t rate_, start_ = 0;
};

static void say_ready() { std::cout << "ready" << std::endl; }

static void wait_for_subscribers(const ros::Publisher& publisher, uint64_t count = 1) {
  while (ros::ok() && publisher.getNumSubscribers() < count) ros::WallDuration(0.005).sleep();
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

// The topics there.
static std::vector<std::string> topics(const Options& options, const std::string& name) {
  if (options.topics == 0) return {name};
  std::vector<std::string> names;
  for (uint64_t index = 0; index < options.topics; ++index) names.push_back(name + "_" + std::to_string(index));
  return names;
}

// How many topics wait for their subscribers at once. A node's sockets have 5 connections wait for its XML-RPC and 100
// for TCPROS; of what comes beside those the kernel tries again after one second, two, four and so on.
constexpr size_t at_once = 20;

// Publishes on all topics, and waits for those who subscribe.
static std::vector<ros::Publisher> advertise(ros::NodeHandle& node, const std::string& name, const Options& options) {
  std::vector<ros::Publisher> publishers;
  for (const auto& topic : topics(options, name)) {
    if (publishers.size() >= at_once) wait_for_subscribers(publishers[publishers.size() - at_once], options.subscribers);
    publishers.push_back(node.advertise<Message>(topic, options.depth));
  }
  for (const auto& publisher : publishers) wait_for_subscribers(publisher, options.subscribers);
  return publishers;
}

static void ping(const Options& options) {
  Stamps sent(options), received(options);
  Message message = message_of(options);
  ros::NodeHandle node;
  std::vector<ros::Publisher> publishers = advertise(node, "ping", options);
  const auto send = [&](uint64_t number) {
    set_number(message, number);
    sent.take(number);
    publishers[number % publishers.size()].publish(message);
  };
  const boost::function<void(const Message::ConstPtr&)> answered = [&](const Message::ConstPtr& answer) {
    const uint64_t number = number_of(*answer);
    received.take(number);
    if (number + 1 == options.total) return ros::requestShutdown();
    send(number + 1);
  };
  const auto subscriber = node.subscribe<Message>("pong", options.depth, answered, ros::VoidConstPtr(), no_delay());
  say_ready();
  wait_for_go();
  send(0);
  serve();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

// As ping at a rate, and without waiting for each answer.
static void flow(const Options& options) {
  Stamps sent(options), received(options);
  Message message = message_of(options);
  uint64_t next = 0, answered = 0;
  Pace pace(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>("ping", options.depth);
  const boost::function<void(const Message::ConstPtr&)> answer = [&](const Message::ConstPtr& message) {
    received.take(number_of(*message));
    ++answered;
  };
  const auto subscriber = node.subscribe<Message>("pong", options.depth, answer, ros::VoidConstPtr(), no_delay());
  wait_for_subscribers(publisher);
  say_ready();
  wait_for_go();
  end_with_bench();
  while (ros::ok() && answered < options.total) {
    const bool may_send = next < options.total && next - answered < options.watermark;
    const uint64_t now = nanoseconds(), due = may_send ? pace.due(next) : now + second;
    if (due > now) {
      ros::getGlobalCallbackQueue()->callOne(ros::WallDuration(0, static_cast<int32_t>(std::min(due - now, second - 1))));
      continue;
    }
    message.data.resize(options.size_of(next));
    set_number(message, next);
    sent.take(next++);
    publisher.publish(message);
    ros::spinOnce();
  }
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
  std::vector<ros::Subscriber> subscribers;
  for (const auto& topic : topics(options, "ping")) {
    subscribers.push_back(node.subscribe<Message>(topic, options.depth, answer, ros::VoidConstPtr(), no_delay()));
  }
  wait_for_subscribers(publisher);
  say_ready();
  serve();
  received.write(options.text("--received"));
}

// Where the payload begins, behind the number.
static uint8_t* payload(Message& message) { return message.data.data() + std::min<size_t>(8, message.data.size()); }

static void source(const Options& options) {
  Stamps sent(options);
  Message message = message_of(options);
  Pace pace(options);
  ros::NodeHandle node;
  const std::vector<ros::Publisher> publishers = advertise(node, "burst", options);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options.total; ++number) {
    message.data.resize(options.size_of(number));
    set_number(message, number);
    pace.wait(number);
    sent.take(number);
    if (options.writes()) {
      std::fill(payload(message), message.data.data() + message.data.size(), static_cast<uint8_t>(number));
    }
    publishers[0].publish(message);
  }
  serve();
  sent.write(options.text("--sent"));
}

// Whether all bytes behind the number are what the source wrote.
static bool is_whole(const Message& message, uint64_t number) {
  const size_t begin = std::min<size_t>(8, message.data.size());
  const uint64_t sum = std::accumulate(message.data.begin() + begin, message.data.end(), uint64_t{0});
  return sum == (message.data.size() - begin) * (number & 0xff);
}

static void sink(const Options& options) {
  Stamps received(options);
  bool all_whole = true;
  ros::NodeHandle node;
  const boost::function<void(const Message::ConstPtr&)> take = [&](const Message::ConstPtr& message) {
    const uint64_t number = number_of(*message);
    if (options.reads()) all_whole &= is_whole(*message, number);
    received.take(number);
    if (number + 1 == options.total) ros::requestShutdown();
  };
  std::vector<ros::Subscriber> subscribers;
  for (const auto& topic : topics(options, "burst")) {
    subscribers.push_back(node.subscribe<Message>(topic, options.depth, take, ros::VoidConstPtr(), no_delay()));
  }
  say_ready();
  serve();
  if (!all_whole) throw std::runtime_error("a payload is not what was sent");
  received.write(options.text("--received"));
}

// Sends each message that `make` makes, when it is due.
template <typename M>
static void send_all(const Options& options, const std::string& topic, const std::function<M(uint64_t)>& make) {
  Stamps sent(options);
  Pace pace(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<M>(topic, options.depth);
  wait_for_subscribers(publisher);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options.total; ++number) {
    pace.wait(number);
    sent.take(number);
    publisher.publish(make(number));
  }
  serve();
  sent.write(options.text("--sent"));
}

// Takes all messages, each with the number that `number_in` finds in it, or throws.
template <typename M>
static void take_all(const Options& options, const std::string& topic,
                     const std::function<uint64_t(const M&)>& number_in) {
  Stamps received(options);
  ros::NodeHandle node;
  const boost::function<void(const boost::shared_ptr<M const>&)> take = [&](const boost::shared_ptr<M const>& message) {
    const uint64_t number = number_in(*message);
    received.take(number);
    if (number + 1 == options.total) ros::requestShutdown();
  };
  const auto subscriber = node.subscribe<M>(topic, options.depth, take, ros::VoidConstPtr(), no_delay());
  say_ready();
  serve();
  received.write(options.text("--received"));
}

static const std::string greeting = "hello world ";

static void talker(const Options& options) {
  send_all<std_msgs::String>(options, "chatter", [](uint64_t number) {
    std_msgs::String text;
    text.data = greeting + std::to_string(number);
    return text;
  });
}

static void listener(const Options& options) {
  take_all<std_msgs::String>(options, "chatter",
                             [](const std_msgs::String& text) { return std::stoull(text.data.substr(greeting.size())); });
}

static TwoInts two_ints(int32_t a, int32_t b) {
  TwoInts both;
  both.a = a;
  both.b = b;
  return both;
}

static void para_in(const Options& options) {
  send_all<TwoInts>(options, "para", [](uint64_t number) { return two_ints(static_cast<int32_t>(number), 1); });
}

static void para_add(const Options& options) {
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<TwoInts>("sum", options.depth);
  const boost::function<void(const boost::shared_ptr<TwoInts const>&)> add =
      [&](const boost::shared_ptr<TwoInts const>& para) { publisher.publish(two_ints(para->a, para->a + para->b)); };
  const auto subscriber = node.subscribe<TwoInts>("para", options.depth, add, ros::VoidConstPtr(), no_delay());
  wait_for_subscribers(publisher);
  say_ready();
  serve();
}

static void add(const Options& options) {
  bool all_right = true;
  take_all<TwoInts>(options, "sum", [&](const TwoInts& sum) {
    all_right &= sum.b == sum.a + 1;
    return static_cast<uint64_t>(sum.a);
  });
  if (!all_right) throw std::runtime_error("a sum is wrong");
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
