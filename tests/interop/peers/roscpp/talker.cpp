// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal.
#include "peer.hpp"

template <class M>
int talk(const peer::Options& options) {
  ros::NodeHandle node;
  const auto queue = static_cast<uint32_t>(options.number("--queue", 1000));
  ros::Publisher publisher = node.advertise<M>(options.topic, queue, options.flag("--latch"));
  std::cout << "ready" << std::endl;
  const auto subscriptions = static_cast<uint32_t>(options.number("--wait", 1));
  while (ros::ok() && publisher.getNumSubscribers() < subscriptions) ros::WallDuration(0.01).sleep();

  const double rate = options.number("--rate", 0);
  ros::WallRate pace(rate > 0 ? rate : 1);
  const auto count = static_cast<uint32_t>(options.number("--count", 0));
  const auto size = static_cast<size_t>(options.number("--size", 0));
  for (uint32_t number = 1; ros::ok() && (count == 0 || number <= count); ++number) {
    M message;
    peer::fill(message, number, size);
    publisher.publish(message);
    std::cout << "sent " << number << ' ' << peer::describe(message) << std::endl;
    if (rate > 0) pace.sleep();
  }
  std::cout << "done" << std::endl;
  ros::spin();
  return 0;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "talker");
  const peer::Options options(argc, argv, {"--latch"});
  return peer::with_type(options.text("--type", "std_msgs/String"), [&](auto message) {
    return talk<decltype(message)>(options);
  });
}
