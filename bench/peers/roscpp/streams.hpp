// Ends of which one sends and the other takes.
#pragma once
#include <ros/ros.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "options.hpp"
#include "stamps.hpp"
#include "talk.hpp"

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
