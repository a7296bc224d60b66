// Round trips of messages.
#pragma once
#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <algorithm>
#include <vector>

#include "options.hpp"
#include "stamps.hpp"
#include "talk.hpp"

static void ping(const Options& options) {
  Stamps sent(options), received(options);
  Message message = new_message(options);
  ros::NodeHandle node;
  std::vector<ros::Publisher> publishers = advertise(node, "ping", options);
  const auto send = [&](uint64_t number) {
    set_number(message, number);
    sent.record(number);
    publishers[number % publishers.size()].publish(message);
  };
  const boost::function<void(const Message::ConstPtr&)> answered = [&](const Message::ConstPtr& answer) {
    const uint64_t number = number_of(*answer);
    received.record(number);
    if (number + 1 == options.total) return ros::requestShutdown();
    send(number + 1);
  };
  const auto subscriber = node.subscribe<Message>("pong", options.depth, answered, ros::VoidConstPtr(), no_delay());
  send_ready();
  wait_for_start();
  send(0);
  serve();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

// As ping, but at a rate and without waiting for each answer.
static void flow(const Options& options) {
  Stamps sent(options), received(options);
  Message message = new_message(options);
  uint64_t next = 0, answered = 0;
  Pace pace(options);
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<Message>("ping", options.depth);
  const boost::function<void(const Message::ConstPtr&)> answer = [&](const Message::ConstPtr& message) {
    received.record(number_of(*message));
    ++answered;
  };
  const auto subscriber = node.subscribe<Message>("pong", options.depth, answer, ros::VoidConstPtr(), no_delay());
  wait_for_subscribers(publisher);
  send_ready();
  wait_for_start();
  stop_on_eof();
  while (ros::ok() && answered < options.total) {
    const bool may_send = next < options.total && next - answered < options.watermark;
    const uint64_t now = nanoseconds(), due = may_send ? pace.due(next) : now + second;
    if (due > now) {
      ros::getGlobalCallbackQueue()->callOne(ros::WallDuration(0, static_cast<int32_t>(std::min(due - now, second - 1))));
      continue;
    }
    message.data.resize(options.size_of(next));
    set_number(message, next);
    sent.record(next++);
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
    received.record(number_of(*message));
    publisher.publish(message);
  };
  std::vector<ros::Subscriber> subscribers;
  for (const auto& topic : topics(options, "ping")) {
    subscribers.push_back(node.subscribe<Message>(topic, options.depth, answer, ros::VoidConstPtr(), no_delay()));
  }
  wait_for_subscribers(publisher);
  send_ready();
  serve();
  received.write(options.text("--received"));
}
