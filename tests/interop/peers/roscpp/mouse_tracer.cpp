// Line tracer in plain roscpp. The first press samples the floor, the second the line, the third starts. Prints `ready`, and
// stays until a signal.
#include <geometry_msgs/Twist.h>
#include <raspimouse_msgs/Leds.h>
#include <raspimouse_msgs/LightSensors.h>
#include <raspimouse_msgs/Switches.h>
#include <ros/ros.h>
#include <std_srvs/SetBool.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

namespace {

using Row = std::array<double, 4>;

constexpr int kSamples = 20;
constexpr double kSpeed = 0.25;
constexpr double kGain = 2.5;
constexpr double kOuter = 1.6;

class Tracer {
 public:
  explicit Tracer(ros::NodeHandle& node)
      : cmd_vel_(node.advertise<geometry_msgs::Twist>("cmd_vel", 10)),
        leds_(node.advertise<raspimouse_msgs::Leds>("leds", 10, true)),
        motor_power_(node.serviceClient<std_srvs::SetBool>("motor_power")),
        sensors_(node.subscribe("light_sensors", 1, &Tracer::sense, this, ros::TransportHints().tcpNoDelay())),
        switches_(node.subscribe("switches", 10, &Tracer::press, this)) {
    show();
  }

 private:
  void press(const raspimouse_msgs::Switches& message) {
    const bool held = message.switch0 || message.switch1 || message.switch2;
    const bool pressed = held && !held_;
    held_ = held;
    if (!pressed || sampling_) return;
    if (sampled_.size() < 2) {
      sampling_ = true;
      count_ = 0;
      sum_ = Row{};
      return;
    }
    std_srvs::SetBool power;
    power.request.data = true;
    motor_power_.waitForExistence(ros::Duration(5));
    follows_ = motor_power_.call(power) && power.response.success;
  }

  void sense(const raspimouse_msgs::LightSensors& message) {
    const Row row = {double(message.forward_r), double(message.right), double(message.left), double(message.forward_l)};
    if (sampling_) sample(row);
    if (follows_) follow(row);
  }

  void sample(const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) sum_[i] += row[i] / kSamples;
    if (++count_ < kSamples) return;
    sampling_ = false;
    sampled_.push_back(sum_);
    show();
  }

  void follow(const Row& row) {
    Row dark;
    for (size_t i = 0; i < row.size(); ++i) dark[i] = (sampled_[0][i] - row[i]) / (sampled_[0][i] - sampled_[1][i]);
    if (dark[1] > 0.5 || dark[2] > 0.5) {
      error_ = dark[1] - dark[2];
    } else if (dark[0] > 0.5 || dark[3] > 0.5) {
      error_ = dark[0] > 0.5 ? kOuter : -kOuter;
    }
    geometry_msgs::Twist twist;
    twist.linear.x = kSpeed * (1 - 0.4 * std::min(std::abs(error_), 1.0));
    twist.angular.z = kGain * error_;
    cmd_vel_.publish(twist);
  }

  // Shows the existing samples to the user.
  void show() {
    raspimouse_msgs::Leds leds;
    leds.led0 = sampled_.size() > 0;
    leds.led1 = sampled_.size() > 1;
    leds_.publish(leds);
  }

  bool held_ = false;
  bool sampling_ = false;
  bool follows_ = false;
  int count_ = 0;
  Row sum_{};
  std::vector<Row> sampled_;
  double error_ = 0;
  ros::Publisher cmd_vel_;
  ros::Publisher leds_;
  ros::ServiceClient motor_power_;
  ros::Subscriber sensors_;
  ros::Subscriber switches_;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "tracer");
  ros::NodeHandle node;
  Tracer tracer(node);
  std::cout << "ready" << std::endl;
  ros::spin();
}
