// Time stamps and deadlines of messages.
#pragma once
#include <time.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "options.hpp"

constexpr uint64_t second = 1000000000u;

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Time stamps of sent or received messages, without those of the warm-up.
class Stamps {
 public:
  explicit Stamps(const Options& options) : warm_up_(options.warm_up) {
    words_.reserve(2 * (options.total - options.warm_up));
  }

  void record(uint64_t number) {
    if (number < warm_up_) return;
    words_.push_back(number);
    words_.push_back(nanoseconds());
  }

  void write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words_.data()), static_cast<std::streamsize>(8 * words_.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

 private:
  uint64_t warm_up_;
  std::vector<uint64_t> words_;
};

// Deadlines of messages; a late message does not shift the others. Without a rate each is due immediately.
class Pace {
 public:
  explicit Pace(const Options& options) : rate_(options.rate) {}

  uint64_t due(uint64_t number) {
    if (rate_ == 0) return 0;
    if (start_ == 0) start_ = nanoseconds();
    return start_ + number * second / rate_;
  }

  void wait(uint64_t number) {
    const uint64_t at = due(number);
    const timespec time{static_cast<time_t>(at / second), static_cast<long>(at % second)};
    while (nanoseconds() < at && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == 0) {
    }
  }

 private:
  uint64_t rate_, start_ = 0;
};
