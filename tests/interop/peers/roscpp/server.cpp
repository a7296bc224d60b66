// Provides a service of std_srvs/SetBool: the response to true holds the number of the call, false fails.
#include <std_srvs/SetBool.h>

#include "peer.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "server");
  const peer::Options options(argc, argv, {});
  unsigned calls = 0;
  using Request = std_srvs::SetBool::Request;
  using Response = std_srvs::SetBool::Response;
  const boost::function<bool(Request&, Response&)> answer = [&](Request& request, Response& response) {
    std::cout << "asked " << ++calls << std::endl;
    response.success = request.data;
    response.message = "call " + std::to_string(calls);
    return static_cast<bool>(request.data);
  };
  ros::NodeHandle node;
  const ros::ServiceServer service = node.advertiseService(options.topic, answer);
  std::cout << "ready" << std::endl;
  ros::spin();
  return 0;
}
