// Calls a service of std_srvs/SetBool: `--count` times with true, then once with false, then with true on one
// persistent connection; prints `answer MESSAGE` or `failed` for each, then `done`.
#include <std_srvs/SetBool.h>

#include "peer.hpp"

static void call(ros::ServiceClient& client, bool data) {
  std_srvs::SetBool service;
  service.request.data = data;
  if (client.call(service)) {
    std::cout << "answer " << service.response.message << std::endl;
  } else {
    std::cout << "failed" << std::endl;
  }
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "caller");
  const peer::Options options(argc, argv, {});
  ros::NodeHandle node;
  if (!ros::service::waitForService(options.topic, ros::Duration(30))) return 1;
  const int count = static_cast<int>(options.number("--count", 3));
  ros::ServiceClient once = node.serviceClient<std_srvs::SetBool>(options.topic);
  for (int i = 0; i < count; ++i) call(once, true);
  call(once, false);
  ros::ServiceClient persistent = node.serviceClient<std_srvs::SetBool>(options.topic, true);
  for (int i = 0; i < count; ++i) call(persistent, true);
  std::cout << "done" << std::endl;
  return 0;
}
