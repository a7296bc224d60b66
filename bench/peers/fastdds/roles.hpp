// Roles of an end. A listener runs on Fast DDS's receiving thread, which is its fastest path.
#pragma once
#include <stdexcept>

#include "options.hpp"
#include "place.hpp"
#include "stamps.hpp"
#include "talk.hpp"

inline void ping(const Options& options) {
  Stamps sent(options), received(options);
  Message message(options.size);
  Participant participant(options);
  Writer question = participant.writer("ping");
  StopSignal stop;
  auto send = [&](uint64_t number) {
    set_number(message, number);
    sent.record(number);
    question.write(message);
  };
  const auto answer = participant.reader("pong", [&](const Message& message) {
    const uint64_t number = number_of(message);
    received.record(number);
    number + 1 < options.total ? send(number + 1) : stop.request();
  });
  question.wait_for_reader();
  answer->wait_for_writer();
  send_ready();
  wait_for_start();
  stop.request_on_eof();
  send(0);
  stop.wait();
  participant.close();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}

inline void pong(const Options& options) {
  Stamps received(options);
  Participant participant(options);
  Writer answer = participant.writer("pong");
  const auto question = participant.reader("ping", [&](const Message& message) {
    received.record(number_of(message));
    answer.write(message);
  });
  answer.wait_for_reader();
  question->wait_for_writer();
  send_ready();
  StopSignal stop;
  stop.request_on_eof();
  stop.wait();
  participant.close();
  received.write(options.text("--received"));
}

inline void source(const Options& options) {
  Stamps sent(options);
  Message message(options.size, 1);
  Pace pace(options);
  Participant participant(options);
  Writer burst = participant.writer("burst");
  burst.wait_for_reader();
  send_ready();
  wait_for_start();
  for (uint64_t number = 0; number < options.total; ++number) {
    set_number(message, number);
    pace.wait(number);
    sent.record(number);
    burst.write(message);
  }
  StopSignal stop;
  stop.request_on_eof();
  stop.wait();
  participant.close();
  sent.write(options.text("--sent"));
}

inline void sink(const Options& options) {
  Stamps received(options);
  Participant participant(options);
  StopSignal stop;
  const auto burst = participant.reader("burst", [&](const Message& message) {
    const uint64_t number = number_of(message);
    received.record(number);
    if (number + 1 == options.total) stop.request();
  });
  burst->wait_for_writer();
  send_ready();
  stop.request_on_eof();
  stop.wait();
  participant.close();
  received.write(options.text("--received"));
}

// Keeps one idle writer and one idle reader until the bench closes standard input.
inline void idle(const Options& options) {
  Participant participant(options);
  participant.writer("status");
  const auto commands = participant.reader("commands", [](const Message&) {});
  StopSignal stop;
  stop.request_on_eof();
  stop.wait();
  participant.close();
}
