// What the ends do. A listener takes messages on the thread that receives them, which is Fast DDS's shortest way.
#pragma once
#include <stdexcept>

#include "options.hpp"
#include "place.hpp"
#include "stamps.hpp"
#include "talk.hpp"

inline void ping(const Options& options) {
  Stamps sent(options), received(options);
  Message message(options.size);
  Place place(options);
  Outlet question = place.outlet("ping");
  Ending ending;
  auto send = [&](uint64_t number) {
    set_number(message, number);
    sent.take(number);
    question.write(message);
  };
  const auto answer = place.inlet("pong", [&](const Message& message) {
    const uint64_t number = number_of(message);
    received.take(number);
    number + 1 < options.total ? send(number + 1) : ending.tell();
  });
  question.wait_for_reader();
  answer->wait_for_writer();
  say_ready();
  wait_for_go();
  ending.comes_with_bench();
  send(0);
  ending.wait();
  place.close();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

inline void pong(const Options& options) {
  Stamps received(options);
  Place place(options);
  Outlet answer = place.outlet("pong");
  const auto question = place.inlet("ping", [&](const Message& message) {
    received.take(number_of(message));
    answer.write(message);
  });
  answer.wait_for_reader();
  question->wait_for_writer();
  say_ready();
  Ending ending;
  ending.comes_with_bench();
  ending.wait();
  place.close();
  received.write(options.text("--received"));
}

inline void source(const Options& options) {
  Stamps sent(options);
  Message message(options.size, 1);
  Pace pace(options);
  Place place(options);
  Outlet burst = place.outlet("burst");
  burst.wait_for_reader();
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options.total; ++number) {
    set_number(message, number);
    pace.wait(number);
    sent.take(number);
    burst.write(message);
  }
  Ending ending;
  ending.comes_with_bench();
  ending.wait();
  place.close();
  sent.write(options.text("--sent"));
}

inline void sink(const Options& options) {
  Stamps received(options);
  Place place(options);
  Ending ending;
  const auto burst = place.inlet("burst", [&](const Message& message) {
    const uint64_t number = number_of(message);
    received.take(number);
    if (number + 1 == options.total) ending.tell();
  });
  burst->wait_for_writer();
  say_ready();
  ending.comes_with_bench();
  ending.wait();
  place.close();
  received.write(options.text("--received"));
}

// One publisher and one subscription that have nothing to do, until the bench closes standard input.
inline void idle(const Options& options) {
  Place place(options);
  place.outlet("status");
  const auto commands = place.inlet("commands", [](const Message&) {});
  Ending ending;
  ending.comes_with_bench();
  ending.wait();
  place.close();
}
