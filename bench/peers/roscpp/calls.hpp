// Ends that call a service or access parameters.
#pragma once
#include <ros/ros.h>
#include <std_srvs/SetBool.h>

#include <functional>
#include <string>

#include "options.hpp"
#include "stamps.hpp"
#include "talk.hpp"

static void serve_switch() {
  ros::NodeHandle node;
  const boost::function<bool(std_srvs::SetBool::Request&, std_srvs::SetBool::Response&)> echo =
      [](std_srvs::SetBool::Request& request, std_srvs::SetBool::Response& response) {
        response.success = request.data;
        return true;
      };
  const auto service = node.advertiseService("switch", echo);
  send_ready();
  serve();
}

// Makes one request after another, until all are made or the bench closes standard input. A missing or wrong response
// has no second stamp.
static void request_all(const Options& options, const std::function<bool(uint64_t)>& is_answered) {
  Stamps sent(options), received(options);
  send_ready();
  wait_for_start();
  stop_on_eof();
  for (uint64_t number = 0; number < options.total && ros::ok(); ++number) {
    sent.record(number);
    if (is_answered(number)) received.record(number);
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
  request_all(options, [&](uint64_t number) { return call(client, number); });
}

static void call_persistent(const Options& options) {
  ros::NodeHandle node;
  ros::service::waitForService("switch");
  ros::ServiceClient client = node.serviceClient<std_srvs::SetBool>("switch", true);
  request_all(options, [&](uint64_t number) { return call(client, number); });
}

// Sets a parameter with each even number, and gets it with the odd number that follows.
template <typename Value>
static void set_and_get(const Options& options, const std::function<Value(uint64_t)>& value_of) {
  ros::NodeHandle node;
  Value value;
  request_all(options, [&](uint64_t number) {
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
