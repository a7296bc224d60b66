// Says `now SECONDS` when its time has changed, in whole seconds.
#include "peer.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "clocked");
  ros::NodeHandle node;
  std::cout << "ready" << std::endl;
  uint32_t said = UINT32_MAX;
  // By the clock on the wall: time may stand still.
  for (ros::WallRate rate(100); ros::ok(); rate.sleep()) {
    const uint32_t now = ros::Time::now().sec;
    if (now != said) {
      said = now;
      std::cout << "now " << now << std::endl;
    }
  }
  return 0;
}
