// Messages there and back.
#include "end.h"
#include "roles.h"
#include "talk.h"

static bool answered(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  stamp(&end->received, number);
  if (number + 1 >= end->options->total) return false;
  send_message_on(end, (number + 1) % end->writer_count, number + 1);
  return true;
}

static bool counted(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  return ++end->answered < end->options->total;
}

// Sends each message when it is due, as long as few enough are unanswered.
static void flow(End *end, const Inlet *answers) {
  const Options *options = end->options;
  Pace pace = {.rate = options->rate};
  uint64_t next = 0;
  dds_duration_t most = 0;
  do {
    const bool may_send = next < options->total && next - end->answered < options->watermark;
    const uint64_t now = nanoseconds(), at = may_send ? due(&pace, next) : UINT64_MAX;
    if (at <= now) send_message(end, next++);
    // After each message it looks for answers, and waits only while none is due.
    most = at <= now ? 0 : may_send ? (dds_duration_t)(at - now) : DDS_INFINITY;
  } while (wait_and_take(answers, most, counted, end));
}

void ping(const Options *options) {
  End end = end_of(options);
  publish_on_all(&end, "ping");
  const Inlet answers = inlet_of("pong", &bench_Message_desc, options);
  wait_for_all_readers(&end, 1);
  wait_for_writers(&answers);
  say_ready();
  wait_for_go();
  end_with_bench();
  if (options->watermark) {
    flow(&end, &answers);
  } else {
    send_message(&end, 0);
    each(&answers, answered, &end);
  }
  write_stamps(&end.sent, options->sent);
  write_stamps(&end.received, options->received);
}

static bool answer(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  write_message(end->writers[0], message);
  return true;
}

void pong(const Options *options) {
  End end = end_of(options);
  publish_on(&end, topic("pong", &bench_Message_desc));
  const Inlet questions = inlet_of_all("ping", options);
  end_with_bench();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&questions);
  say_ready();
  each(&questions, answer, &end);
  write_stamps(&end.received, options->received);
}
