// Messages in one direction.
#include "end.h"
#include "roles.h"
#include "talk.h"

void source(const Options *options) {
  End end = new_end(options);
  Pace pace = {.rate = options->rate};
  publish_on_all(&end, "burst");
  wait_for_all_readers(&end, options->subscribers);
  send_ready();
  wait_for_start();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    send_message(&end, number);
  }
  wait_for_end();
  write_stamps(&end.sent, options->sent);
}

// Whether all bytes after the number are what the source wrote.
static bool is_payload_intact(const bench_Message *message, uint64_t number) {
  uint64_t sum = 0;
  for (uint32_t i = sizeof number; i < message->data._length; ++i) sum += message->data._buffer[i];
  return sum == (message->data._length - sizeof number) * (number & 0xff);
}

static bool on_burst(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  if (end->options->reads && !is_payload_intact(message, number)) fail("a payload is not what was sent");
  return record_received(end, number);
}

void sink(const Options *options) {
  const ReaderSet burst = reader_set_of_all_topics("burst", options);
  run_receiver(&burst, on_burst, options);
}
