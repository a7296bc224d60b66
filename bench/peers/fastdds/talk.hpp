// Protocol between an end and the bench, and the number in a message.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Message = std::vector<uint8_t>;

inline uint64_t number_of(const Message& message) {
  uint64_t number = 0;
  std::memcpy(&number, message.data(), std::min(sizeof number, message.size()));
  return number;
}

inline void set_number(Message& message, uint64_t number) {
  std::memcpy(message.data(), &number, std::min(sizeof number, message.size()));
}

inline void send_ready() { std::cout << "ready" << std::endl; }

inline void wait_for_start() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("the bench has ended");
}

// Stop request: after the last message, or when the bench closes standard input.
class StopSignal {
 public:
  void request() {
    const std::lock_guard<std::mutex> guard(state_->mutex);
    state_->is_requested = true;
    state_->requested.notify_all();
  }

  // The reading thread may outlive this object.
  void request_on_eof() {
    std::thread([stop = *this]() mutable {
      std::string line;
      while (std::getline(std::cin, line)) {
      }
      stop.request();
    }).detach();
  }

  void wait() {
    std::unique_lock<std::mutex> guard(state_->mutex);
    state_->requested.wait(guard, [this] { return state_->is_requested; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable requested;
    bool is_requested = false;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};
