// Request and reply on Fast DDS: the reply carries the identity of the request, and the caller takes only its own.
#pragma once
#include "roles.hpp"

inline void serve(const Options& options) {
  Participant participant(options);
  Writer reply = participant.writer("reply");
  const auto request = participant.reader_of_samples("request", [&](const Message& message, const fast::SampleInfo& info) {
    rtps::WriteParams answered;
    answered.related_sample_identity(info.sample_identity);
    reply.write(message, answered);
  });
  send_ready();
  StopSignal stop;
  stop.request_on_eof();
  stop.wait();
  participant.close();
}

inline void call(const Options& options) {
  Stamps sent(options), received(options);
  Message message(options.size);
  Participant participant(options);
  Writer request = participant.writer("request");
  StopSignal stop;
  // Protects what follows: a reply may arrive before `write` has returned the identity of its request.
  std::recursive_mutex mutex;
  rtps::SampleIdentity identity;
  auto send = [&](uint64_t number) {
    set_number(message, number);
    rtps::WriteParams params;
    sent.record(number);
    const std::lock_guard<std::recursive_mutex> guard(mutex);
    request.write(message, params);
    identity = params.sample_identity();
  };
  const auto reply = participant.reader_of_samples("reply", [&](const Message& message, const fast::SampleInfo& info) {
    const std::lock_guard<std::recursive_mutex> guard(mutex);
    if (info.related_sample_identity != identity) return;
    const uint64_t number = number_of(message);
    received.record(number);
    number + 1 < options.total ? send(number + 1) : stop.request();
  });
  request.wait_for_reader();
  reply->wait_for_writer();
  send_ready();
  wait_for_start();
  stop.request_on_eof();
  send(0);
  stop.wait();
  participant.close();
  sent.write(options.text("--sent"));
  received.write(options.text("--received"));
}
