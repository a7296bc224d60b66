// Protocol between an end and the bench, discovery of the other ends, and the message of most exchanges.
#pragma once
#include <ros/ros.h>
#include <std_msgs/UInt8MultiArray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "options.hpp"

using Message = std_msgs::UInt8MultiArray;

static uint64_t number_of(const Message& message) {
  uint64_t number = 0;
  std::memcpy(&number, message.data.data(), std::min(sizeof number, message.data.size()));
  return number;
}

static void set_number(Message& message, uint64_t number) {
  std::memcpy(message.data.data(), &number, std::min(sizeof number, message.data.size()));
}

static void send_ready() { std::cout << "ready" << std::endl; }

static void wait_for_subscribers(const ros::Publisher& publisher, uint64_t count = 1) {
  while (ros::ok() && publisher.getNumSubscribers() < count) ros::WallDuration(0.005).sleep();
}

static void wait_for_start() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("the bench has ended");
}

// Shuts the node down once the bench closes standard input.
static void stop_on_eof() {
  std::thread([] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    ros::requestShutdown();
  }).detach();
}

// Spins until the bench closes standard input or a callback shuts the node down.
static void serve() {
  stop_on_eof();
  ros::spin();
}

static Message new_message(const Options& options) {
  Message message;
  message.data.resize(options.size);
  return message;
}

static ros::TransportHints no_delay() { return ros::TransportHints().tcpNoDelay(); }

// The topics of this exchange.
static std::vector<std::string> topics(const Options& options, const std::string& name) {
  if (options.topics == 0) return {name};
  std::vector<std::string> names;
  for (uint64_t index = 0; index < options.topics; ++index) names.push_back(name + "_" + std::to_string(index));
  return names;
}

// Maximum number of topics that wait for subscribers at a time. The listen backlog of a node is 5 connections for
// XML-RPC and 100 for TCPROS; the kernel retries further ones after 1 s, 2 s, 4 s and so on.
constexpr size_t max_pending = 20;

// Advertises all topics and waits for their subscribers.
static std::vector<ros::Publisher> advertise(ros::NodeHandle& node, const std::string& name, const Options& options) {
  std::vector<ros::Publisher> publishers;
  for (const auto& topic : topics(options, name)) {
    if (publishers.size() >= max_pending) wait_for_subscribers(publishers[publishers.size() - max_pending], options.subscribers);
    publishers.push_back(node.advertise<Message>(topic, options.depth));
  }
  for (const auto& publisher : publishers) wait_for_subscribers(publisher, options.subscribers);
  return publishers;
}
