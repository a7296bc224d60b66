// Round trips of messages.
#include "end.h"
#include "roles.h"
#include "talk.h"

static bool on_answer(void *data, const void *message) {
  End *end = data;
  const uint64_t number = number_of(message);
  stamp(&end->received, number);
  if (number + 1 >= end->options->total) return false;
  send_message_on(end, (number + 1) % end->writer_count, number + 1);
  return true;
}

static bool on_answer_in_flow(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  return ++end->answered < end->options->total;
}

// Sends each message when it is due, with at most `watermark` unanswered.
static void flow(End *end, const ReaderSet *answers) {
  const Options *options = end->options;
  Pace pace = {.rate = options->rate};
  uint64_t next = 0;
  dds_duration_t timeout = 0;
  do {
    const bool may_send = next < options->total && next - end->answered < options->watermark;
    const uint64_t now = nanoseconds(), at = may_send ? due_time(&pace, next) : UINT64_MAX;
    if (at <= now) send_message(end, next++);
    // Answers are taken after each message. The wait ends when the next message is due.
    timeout = at <= now ? 0 : may_send ? (dds_duration_t)(at - now) : DDS_INFINITY;
  } while (wait_and_dispatch(answers, timeout, on_answer_in_flow, end));
}

void ping(const Options *options) {
  End end = new_end(options);
  publish_on_all(&end, "ping");
  const ReaderSet answers = reader_set_of("pong", &bench_Message_desc, options);
  wait_for_all_readers(&end, 1);
  wait_for_writers(&answers);
  send_ready();
  wait_for_start();
  stop_on_eof();
  if (options->watermark) {
    flow(&end, &answers);
  } else {
    send_message(&end, 0);
    dispatch_all(&answers, on_answer, &end);
  }
  write_stamps(&end.sent, options->sent);
  write_stamps(&end.received, options->received);
}

static bool on_question(void *data, const void *message) {
  End *end = data;
  stamp(&end->received, number_of(message));
  write_message(end->writers[0], message);
  return true;
}

void pong(const Options *options) {
  End end = new_end(options);
  publish_on(&end, topic("pong", &bench_Message_desc));
  const ReaderSet questions = reader_set_of_all_topics("ping", options);
  stop_on_eof();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&questions);
  send_ready();
  dispatch_all(&questions, on_question, &end);
  write_stamps(&end.received, options->received);
}
