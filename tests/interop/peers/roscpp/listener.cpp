// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`.
#include "peer.hpp"

template <class M>
int listen(const peer::Options& options) {
  const auto count = static_cast<uint32_t>(options.number("--count", 0));
  uint32_t received = 0;
  const auto on_message = [&](const boost::shared_ptr<const M>& message) {
    if (count != 0 && received >= count) return;
    std::cout << "got " << ++received << ' ' << peer::describe(*message) << std::endl;
    if (received == count) ros::requestShutdown();
  };
  ros::TransportHints hints;
  if (options.flag("--udp")) hints.unreliable();
  if (options.flag("--udp-or-tcp")) hints.unreliable().reliable();
  if (options.flag("--nodelay")) hints.tcpNoDelay();
  ros::NodeHandle node;
  const auto queue = static_cast<uint32_t>(options.number("--queue", 1000));
  const auto subscriber = node.subscribe<M>(options.topic, queue, on_message, ros::VoidConstPtr(), hints);
  std::cout << "ready" << std::endl;
  ros::spin();
  if (received == count) std::cout << "done" << std::endl;
  return 0;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "listener");
  const peer::Options options(argc, argv, {"--udp", "--udp-or-tcp", "--nodelay"});
  return peer::with_type(options.text("--type", "std_msgs/String"), [&](auto message) {
    return listen<decltype(message)>(options);
  });
}
