// Shared parts of these programs: command-line options, messages, and their canonical bytes.
#pragma once

#include <geometry_msgs/Twist.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <std_msgs/String.h>
#include <std_msgs/UInt8MultiArray.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace peer {

/// `TOPIC --key value ... --flag ...`
class Options {
 public:
  Options(int argc, char** argv, const std::set<std::string>& flags) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.rfind("--", 0) != 0) {
        topic = word;
      } else if (flags.count(word) != 0) {
        values_[word] = "1";
      } else if (++i < argc) {
        values_[word] = argv[i];
      }
    }
    if (topic.empty()) {
      std::cerr << "usage: " << argv[0] << " TOPIC [--OPTION VALUE]..." << std::endl;
      std::exit(2);
    }
  }

  std::string text(const std::string& key, const std::string& default_value) const {
    const auto found = values_.find(key);
    return found == values_.end() ? default_value : found->second;
  }
  double number(const std::string& key, double default_value) const {
    return std::stod(text(key, std::to_string(default_value)));
  }
  bool flag(const std::string& key) const { return values_.count(key) != 0; }

  std::string topic;

 private:
  std::map<std::string, std::string> values_;
};

inline std::vector<uint8_t> pattern(uint32_t number, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((number + i) % 251);
  return bytes;
}

inline void fill(std_msgs::String& message, uint32_t number, size_t size) {
  message.data = "hello " + std::to_string(number);
  if (message.data.size() < size) message.data.resize(size, '.');
}

inline void fill(std_msgs::UInt8MultiArray& message, uint32_t number, size_t size) {
  message.data = pattern(number, size);
}

inline void fill(sensor_msgs::Image& message, uint32_t number, size_t size) {
  message.header.stamp = ros::Time(number, number * 1000);
  message.header.frame_id = "camera";
  message.height = 1;
  message.width = message.step = static_cast<uint32_t>(size);
  message.encoding = "mono8";
  message.data = pattern(number, size);
}

inline void fill(geometry_msgs::Twist& message, uint32_t number, size_t) {
  const double n = number;
  message.linear.x = n, message.linear.y = n / 2, message.linear.z = n / 4;
  message.angular.x = -n, message.angular.y = 0.1, message.angular.z = 1e-300;
}

/// Publishers overwrite Header.seq: it is compared as 0.
template <class M>
void clear_sequence(M&) {}
inline void clear_sequence(sensor_msgs::Image& message) { message.header.seq = 0; }

inline uint32_t crc32(const uint8_t* bytes, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

/// Length and CRC-32 of the serialized message.
template <class M>
std::string describe(M message) {
  clear_sequence(message);
  std::vector<uint8_t> body(ros::serialization::serializationLength(message));
  ros::serialization::OStream stream(body.data(), static_cast<uint32_t>(body.size()));
  ros::serialization::serialize(stream, message);
  char text[64];
  std::snprintf(text, sizeof text, "len %zu crc %08x", body.size(), crc32(body.data(), body.size()));
  return text;
}

/// Calls `run` with an empty message of the named type.
template <class Run>
int with_type(const std::string& type, Run run) {
  if (type == "std_msgs/String") return run(std_msgs::String());
  if (type == "std_msgs/UInt8MultiArray") return run(std_msgs::UInt8MultiArray());
  if (type == "sensor_msgs/Image") return run(sensor_msgs::Image());
  if (type == "geometry_msgs/Twist") return run(geometry_msgs::Twist());
  std::cerr << "unknown type " << type << std::endl;
  return 2;
}

}  // namespace peer
