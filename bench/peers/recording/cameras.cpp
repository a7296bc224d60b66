// Cameras in roscpp that bench/recording has recorded: cameras TOPICS RATE SECONDS BYTES CONTENT PATH. The arguments and the
// lines are those of bench/ends/examples/recording.rs; there is only the network.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

constexpr uint64_t second = 1000000000u;
constexpr uint32_t step = 1024, depth = 50;
constexpr size_t image_count = 8;

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * second + static_cast<uint64_t>(now.tv_nsec);
}

static void wait_until(uint64_t due) {
  const timespec time{static_cast<time_t>(due / second), static_cast<long>(due % second)};
  while (nanoseconds() < due && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == 0) {
  }
}

static std::vector<sensor_msgs::Image> images(bool is_scene, size_t bytes) {
  uint64_t state = 1;
  const auto noise = [&] {
    state = state * 6364136223846793005u + 1;
    return static_cast<uint8_t>(state >> 56);
  };
  std::vector<sensor_msgs::Image> images(image_count);
  for (size_t number = 0; number < image_count; ++number) {
    auto& image = images[number];
    image.header.frame_id = "camera";
    image.height = static_cast<uint32_t>((bytes + step - 1) / step);
    image.width = image.step = step;
    image.encoding = "mono8";
    image.data.resize(bytes);
    for (size_t place = 0; place < bytes; ++place) {
      const uint8_t scene = static_cast<uint8_t>((place % step + place / step + 16 * number) / 8);
      image.data[place] = is_scene ? scene ^ (noise() & 3) : noise();
    }
  }
  return images;
}

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  ros::init(argc, argv, "cameras", ros::init_options::NoSigintHandler);
  if (argc != 7) {
    std::cerr << "usage: cameras TOPICS RATE SECONDS BYTES noise|scene network" << std::endl;
    return 2;
  }
  const uint64_t topics = std::stoull(argv[1]), rate = std::stoull(argv[2]), seconds = std::stoull(argv[3]);
  auto all = images(std::string(argv[5]) == "scene", std::stoull(argv[4]));
  ros::NodeHandle node;
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::vector<ros::Publisher> cameras;
  for (uint64_t topic = 0; topic < topics; ++topic) {
    cameras.push_back(node.advertise<sensor_msgs::Image>("camera_" + std::to_string(topic), depth));
  }
  for (const auto& camera : cameras) {
    while (camera.getNumSubscribers() == 0) wait_until(nanoseconds() + second / 100);
  }
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::vector<uint64_t> sent(topics);
  const uint64_t start = nanoseconds();
  uint64_t late = 0;
  for (uint64_t number = 0; number < rate * seconds; ++number) {
    const uint64_t due = start + number * second / rate;
    wait_until(due);
    late = std::max(late, nanoseconds() - due);
    auto& image = all[number % image_count];
    image.header.seq = static_cast<uint32_t>(number);
    cameras[number % topics].publish(image);
    ++sent[number % topics];
  }
  const double took = static_cast<double>(nanoseconds() - start) / 1e9;
  std::cout << "{\"sent\": [";
  for (uint64_t topic = 0; topic < topics; ++topic) std::cout << (topic ? ", " : "") << sent[topic];
  std::cout << "], \"seconds\": " << took << ", \"late_ms\": " << static_cast<double>(late) / 1e6 << "}" << std::endl;
  // Until the recorder has all, and the bench closes standard input.
  while (std::getline(std::cin, line)) {
  }
  return 0;
}
