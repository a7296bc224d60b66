// Ends of small messages with a meaning: texts and sums.
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
