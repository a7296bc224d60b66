// Prints `now SECONDS` when ROS time has changed, in whole seconds.
#include "peer.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "clocked");
  ros::NodeHandle node;
  std::cout << "ready" << std::endl;
  uint32_t printed = UINT32_MAX;
  // Wall clock: ROS time may stand still.
  for (ros::WallRate rate(100); ros::ok(); rate.sleep()) {
    const uint32_t now = ros::Time::now().sec;
    if (now != printed) {
      printed = now;
      std::cout << "now " << now << std::endl;
    }
  }
  return 0;
}
