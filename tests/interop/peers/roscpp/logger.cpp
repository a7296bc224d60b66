// Logs a line of each of two levels every 100 ms: `NAME warns` and `NAME details`.
#include "peer.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "logger");
  ros::NodeHandle node;
  const std::string name = ros::this_node::getName();
  std::cout << "ready" << std::endl;
  for (ros::Rate rate(10); ros::ok(); rate.sleep()) {
    ROS_WARN("%s warns", name.c_str());
    ROS_DEBUG("%s details", name.c_str());
  }
  return 0;
}
