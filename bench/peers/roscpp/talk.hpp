// How an end talks with the bench and finds the other ends; and the message of most exchanges.
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
