// Small messages: texts, and pairs of integers that pass through three ends.
#pragma once
#include <ros/ros.h>
#include <std_msgs/String.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "options.hpp"
#include "stamps.hpp"
#include "talk.hpp"
#include "two_ints.hpp"

// Sends each message of `make` when it is due.
template <typename M>
static void send_all(const Options& options, const std::string& topic, const std::function<M(uint64_t)>& make) {
  Stamps sent(options);
  Pace pace(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<M>(topic, options.depth);
  wait_for_subscribers(publisher);
  send_ready();
  wait_for_start();
  for (uint64_t number = 0; number < options.total; ++number) {
    pace.wait(number);
    sent.record(number);
    publisher.publish(make(number));
  }
  serve();
  sent.write(options.text("--sent"));
}

// Receives all messages; `number_in` returns the number of a message, or throws.
template <typename M>
static void run_receiver(const Options& options, const std::string& topic,
                     const std::function<uint64_t(const M&)>& number_in) {
  Stamps received(options);
  ros::NodeHandle node;
  const boost::function<void(const boost::shared_ptr<M const>&)> on_message =
      [&](const boost::shared_ptr<M const>& message) {
    const uint64_t number = number_in(*message);
    received.record(number);
    if (number + 1 == options.total) ros::requestShutdown();
  };
  const auto subscriber = node.subscribe<M>(topic, options.depth, on_message, ros::VoidConstPtr(), no_delay());
  send_ready();
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
  run_receiver<std_msgs::String>(options, "chatter",
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
  send_ready();
  serve();
}

static void add(const Options& options) {
  bool all_correct = true;
  run_receiver<TwoInts>(options, "sum", [&](const TwoInts& sum) {
    all_correct &= sum.b == sum.a + 1;
    return static_cast<uint64_t>(sum.a);
  });
  if (!all_correct) throw std::runtime_error("a sum is wrong");
}
