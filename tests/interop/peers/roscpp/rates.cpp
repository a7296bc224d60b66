// Sends or receives small messages on `/rate0` to `/rateN` at 1 kHz each, and 2 MiB on `/rate_image` at 30 Hz:
// `rates send TOPICS TICKS GATE` or `rates receive TOPICS TICKS`. A tick is a millisecond, every 33rd has an image. Each
// message begins with its number. Number 0 is sent until the file GATE exists. The receiver prints `joined` once all topics
// have delivered something, `received all` once they have delivered all in order, and ends at the first gap; if it is
// interrupted, it prints what it lacks. All is queued.
#include <fstream>

#include "peer.hpp"

namespace {

constexpr uint32_t IMAGE_TICKS = 33;
constexpr size_t IMAGE_SIZE = 2 << 20, SMALL_SIZE = 64;

using Bytes = std_msgs::UInt8MultiArray;

uint32_t images(uint32_t ticks) { return (ticks + IMAGE_TICKS - 1) / IMAGE_TICKS; }

/// The last of the `topics + 1` topics has the images.
std::string topic(uint32_t index, uint32_t topics) {
  return index == topics ? "/rate_image" : "/rate" + std::to_string(index);
}

void send(uint32_t number, size_t size, ros::Publisher& publisher) {
  Bytes message;
  message.data.resize(size);
  for (unsigned byte = 0; byte < 4; ++byte) message.data[byte] = static_cast<uint8_t>(number >> 8 * byte);
  publisher.publish(message);
}

void run_sender(ros::NodeHandle& node, uint32_t topics, uint32_t ticks, const std::string& gate) {
  std::vector<ros::Publisher> publishers;
  for (uint32_t index = 0; index <= topics; ++index) {
    // A queue of 0 has no limit.
    publishers.push_back(node.advertise<Bytes>(topic(index, topics), 0));
  }
  while (ros::ok() && !std::ifstream(gate)) {
    for (ros::Publisher& publisher : publishers) send(0, SMALL_SIZE, publisher);
    ros::WallDuration(0.05).sleep();
  }
  const ros::WallTime begin = ros::WallTime::now();
  for (uint32_t tick = 0; ros::ok() && tick < ticks; ++tick) {
    for (uint32_t index = 0; index < topics; ++index) send(tick + 1, SMALL_SIZE, publishers[index]);
    if (tick % IMAGE_TICKS == 0) send(tick / IMAGE_TICKS + 1, IMAGE_SIZE, publishers[topics]);
    ros::WallTime::sleepUntil(begin + ros::WallDuration(0.001 * (tick + 1)));
  }
  std::cout << "sent all" << std::endl;
  ros::spin();
}

class Receiver {
 public:
  Receiver(ros::NodeHandle& node, uint32_t topics, uint32_t ticks)
      : topics_(topics), ticks_(ticks), next_(topics + 1, 1), joined_(topics + 1, false) {
    for (uint32_t index = 0; index <= topics; ++index) {
      const auto take = [this, index](const Bytes::ConstPtr& message) { on_message(index, message->data); };
      subscribers_.push_back(node.subscribe<Bytes>(topic(index, topics), 0, take));
    }
  }

  void print_missing() const {
    for (uint32_t index = 0; index <= topics_; ++index) {
      if (next_[index] > count_of(index)) continue;
      std::cout << topic(index, topics_) << ": " << next_[index] - 1 << " of " << count_of(index) << std::endl;
    }
  }

 private:
  uint32_t count_of(uint32_t index) const { return index == topics_ ? images(ticks_) : ticks_; }

  void on_message(uint32_t index, const std::vector<uint8_t>& data) {
    uint32_t number = 0;
    for (unsigned byte = 0; byte < 4; ++byte) number |= static_cast<uint32_t>(data.at(byte)) << 8 * byte;
    if (!joined_[index]) {
      joined_[index] = true;
      if (++joined_count_ == topics_ + 1) std::cout << "joined" << std::endl;
    }
    if (number == 0) return;
    if (number != next_[index]) {
      std::cout << "gap in " << topic(index, topics_) << ": " << number << " instead of " << next_[index] << std::endl;
      std::exit(1);
    }
    if (next_[index]++ == count_of(index) && ++complete_ == topics_ + 1) {
      std::cout << "received all" << std::endl;
      ros::requestShutdown();
    }
  }

  const uint32_t topics_, ticks_;
  std::vector<uint32_t> next_;
  std::vector<bool> joined_;
  uint32_t joined_count_ = 0, complete_ = 0;
  std::vector<ros::Subscriber> subscribers_;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "rates");
  if (argc < 4) return 2;
  ros::NodeHandle node;
  const auto topics = static_cast<uint32_t>(std::stoul(argv[2])), ticks = static_cast<uint32_t>(std::stoul(argv[3]));
  if (std::string(argv[1]) == "send" && argc > 4) {
    run_sender(node, topics, ticks, argv[4]);
  } else {
    Receiver receiver(node, topics, ticks);
    ros::spin();
    receiver.print_missing();
  }
}
