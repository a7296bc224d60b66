// What an end and the bench say to each other; and the number that a message carries.
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

inline void say_ready() { std::cout << "ready" << std::endl; }

inline void wait_for_go() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("the bench has gone");
}

// The end of an exchange: after the last message, or when the bench closes standard input.
class Ending {
 public:
  void tell() {
    const std::lock_guard<std::mutex> guard(state_->mutex);
    state_->is_here = true;
    state_->told.notify_all();
  }

  // The thread that reads may outlive this end.
  void comes_with_bench() {
    std::thread([ending = *this]() mutable {
      std::string line;
      while (std::getline(std::cin, line)) {
      }
      ending.tell();
    }).detach();
  }

  void wait() {
    std::unique_lock<std::mutex> guard(state_->mutex);
    state_->told.wait(guard, [this] { return state_->is_here; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable told;
    bool is_here = false;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};
