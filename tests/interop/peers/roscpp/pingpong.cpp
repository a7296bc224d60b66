// A closed loop of two nodes: `--role ping` publishes on TOPIC/ping and waits for the answer on TOPIC/pong before
// the next; `--role pong` sends back each message. `ping` prints the round trips in microseconds; `--raw FILE` writes
// each of them to a file.
#include <time.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "peer.hpp"

using Message = std_msgs::UInt8MultiArray;

static double microseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static void report(std::vector<double> trips, const std::string& raw) {
  if (!raw.empty()) {
    std::ofstream file(raw);
    for (const double trip : trips) file << trip << '\n';
  }
  std::sort(trips.begin(), trips.end());
  const auto at = [&](double share) { return trips[static_cast<size_t>((trips.size() - 1) * share)]; };
  const double average = std::accumulate(trips.begin(), trips.end(), 0.0) / trips.size();
  std::printf("rtt_us count %zu min %.2f median %.2f avg %.2f p99 %.2f max %.2f\n", trips.size(), at(0), at(0.5),
              average, at(0.99), at(1));
  std::fflush(stdout);
}

static int ping(const peer::Options& options) {
  const auto count = static_cast<size_t>(options.number("--count", 10000));
  const auto warm_up = static_cast<size_t>(options.number("--warm-up", 1000));
  Message message;
  peer::fill(message, 0, static_cast<size_t>(options.number("--size", 10)));
  std::vector<double> trips;
  size_t answered = 0;
  double sent_at = 0;
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>(options.topic + "/ping", 1);
  const auto send = [&] {
    sent_at = microseconds();
    publisher.publish(message);
  };
  const auto on_answer = [&](const Message::ConstPtr&) {
    const double trip = microseconds() - sent_at;
    if (answered++ >= warm_up) trips.push_back(trip);
    if (trips.size() == count) return ros::requestShutdown();
    send();
  };
  const auto subscriber = node.subscribe<Message>(options.topic + "/pong", 1, on_answer, ros::VoidConstPtr(),
                                                  ros::TransportHints().tcpNoDelay());
  while (ros::ok() && (publisher.getNumSubscribers() == 0 || subscriber.getNumPublishers() == 0)) {
    ros::WallDuration(0.01).sleep();
  }
  send();
  ros::spin();
  if (trips.size() < count) return 1;
  report(trips, options.text("--raw", ""));
  return 0;
}

static int pong(const peer::Options& options) {
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>(options.topic + "/pong", 1);
  const auto on_message = [&](const Message::ConstPtr& message) { publisher.publish(message); };
  const auto subscriber = node.subscribe<Message>(options.topic + "/ping", 1, on_message, ros::VoidConstPtr(),
                                                  ros::TransportHints().tcpNoDelay());
  std::cout << "ready" << std::endl;
  ros::spin();
  return 0;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "pingpong");
  const peer::Options options(argc, argv, {});
  const std::string role = options.text("--role", "");
  if (role == "ping") return ping(options);
  if (role == "pong") return pong(options);
  std::cerr << "--role must be ping or pong" << std::endl;
  return 2;
}
