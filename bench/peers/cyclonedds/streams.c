// Messages one way.
#include "end.h"
#include "roles.h"
#include "talk.h"

void source(const Options *options) {
  End end = end_of(options);
  Pace pace = {.rate = options->rate};
  publish_on_all(&end, "burst");
  wait_for_all_readers(&end, options->subscribers);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    send_message(&end, number);
  }
  wait_for_end();
  write_stamps(&end.sent, options->sent);
}

// Whether they are what the source wrote.
static bool is_whole(const bench_Message *message, uint64_t number) {
  uint64_t sum = 0;
  for (uint32_t i = sizeof number; i < message->data._length; ++i) sum += message->data._buffer[i];
  return sum == (message->data._length - sizeof number) * (number & 0xff);
}

static bool take_burst(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  if (end->options->reads && !is_whole(message, number)) fail("a payload is not what was sent");
  return take_number(end, number);
}

void sink(const Options *options) {
  const Inlet burst = inlet_of_all("burst", options);
  take_all(&burst, take_burst, options);
}
