// Messages in one direction.
#pragma once
#include <ros/ros.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "options.hpp"
#include "stamps.hpp"
#include "talk.hpp"

// Start of the payload, after the number.
static uint8_t* payload(Message& message) { return message.data.data() + std::min<size_t>(8, message.data.size()); }

static void source(const Options& options) {
  Stamps sent(options);
  Message message = new_message(options);
  Pace pace(options);
  ros::NodeHandle node;
  const std::vector<ros::Publisher> publishers = advertise(node, "burst", options);
  send_ready();
  wait_for_start();
  for (uint64_t number = 0; number < options.total; ++number) {
    message.data.resize(options.size_of(number));
    set_number(message, number);
    pace.wait(number);
    sent.record(number);
    if (options.writes()) {
      std::fill(payload(message), message.data.data() + message.data.size(), static_cast<uint8_t>(number));
    }
    publishers[0].publish(message);
  }
  serve();
  sent.write(options.text("--sent"));
}

// Whether all bytes after the number are what the source wrote.
static bool is_payload_intact(const Message& message, uint64_t number) {
  const size_t begin = std::min<size_t>(8, message.data.size());
  const uint64_t sum = std::accumulate(message.data.begin() + begin, message.data.end(), uint64_t{0});
  return sum == (message.data.size() - begin) * (number & 0xff);
}

static void sink(const Options& options) {
  Stamps received(options);
  bool all_intact = true;
  ros::NodeHandle node;
  const boost::function<void(const Message::ConstPtr&)> on_message = [&](const Message::ConstPtr& message) {
    const uint64_t number = number_of(*message);
    if (options.reads()) all_intact &= is_payload_intact(*message, number);
    received.record(number);
    if (number + 1 == options.total) ros::requestShutdown();
  };
  std::vector<ros::Subscriber> subscribers;
  for (const auto& topic : topics(options, "burst")) {
    subscribers.push_back(node.subscribe<Message>(topic, options.depth, on_message, ros::VoidConstPtr(), no_delay()));
  }
  send_ready();
  serve();
  if (!all_intact) throw std::runtime_error("a payload is not what was sent");
  received.write(options.text("--received"));
}
