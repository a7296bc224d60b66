// Message of two integers.
#pragma once
#include <ros/ros.h>

#include <cstdint>

// As genmsg would generate it from bench/interfaces/bench_msgs/msg/TwoInts.msg.
struct TwoInts {
  int32_t a = 0, b = 0;
};

namespace ros {
namespace message_traits {
template <>
struct IsFixedSize<TwoInts> : TrueType {};
template <>
struct MD5Sum<TwoInts> {
  static const char* value() { return "ef8322123148e475e3e93a1f609b2f70"; }
  static const char* value(const TwoInts&) { return value(); }
};
template <>
struct DataType<TwoInts> {
  static const char* value() { return "bench_msgs/TwoInts"; }
  static const char* value(const TwoInts&) { return value(); }
};
template <>
struct Definition<TwoInts> {
  static const char* value() { return "int32 a\nint32 b\n"; }
  static const char* value(const TwoInts&) { return value(); }
};
}  // namespace message_traits
namespace serialization {
template <>
struct Serializer<TwoInts> {
  template <typename Stream, typename T>
  static void allInOne(Stream& stream, T message) {
    stream.next(message.a);
    stream.next(message.b);
  }
  ROS_DECLARE_ALLINONE_SERIALIZER
};
}  // namespace serialization
}  // namespace ros
