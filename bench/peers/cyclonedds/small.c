// Small messages: texts, and pairs of integers that pass through three ends.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "end.h"
#include "roles.h"
#include "talk.h"

// Maximum bytes of a text, including the terminating zero.
#define TEXT 64

static const char greeting[] = "hello world ";

static void write_text(dds_entity_t writer, uint64_t number) {
  char text[TEXT];
  snprintf(text, sizeof text, "%s%" PRIu64, greeting, number);
  write_message(writer, &(bench_Text){.data = text});
}

static void write_para(dds_entity_t writer, uint64_t number) {
  write_message(writer, &(bench_TwoInts){.a = (int32_t)number, .b = 1});
}

// Sends each message when it is due.
static void send_all(dds_entity_t topic, void (*write)(dds_entity_t, uint64_t), const Options *options) {
  Stamps sent = stamps_of(options);
  Pace pace = {.rate = options->rate};
  const dds_entity_t writer = writer_of(topic, options);
  wait_for_readers(writer, 1);
  send_ready();
  wait_for_start();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    stamp(&sent, number);
    write(writer, number);
  }
  wait_for_end();
  write_stamps(&sent, options->sent);
}

static bool on_text(void *end, const void *message) {
  const bench_Text *text = message;
  if (strncmp(text->data, greeting, sizeof greeting - 1)) fail("unexpected text: %s", text->data);
  return record_received(end, number(text->data + sizeof greeting - 1));
}

static bool on_sum(void *end, const void *message) {
  const bench_TwoInts *sum = message;
  if (sum->b != sum->a + 1) fail("the sum of %d and 1 is not %d", sum->a, sum->b);
  return record_received(end, (uint64_t)sum->a);
}

static bool on_para(void *data, const void *message) {
  const End *end = data;
  const bench_TwoInts *para = message;
  write_message(end->writers[0], &(bench_TwoInts){.a = para->a, .b = para->a + para->b});
  return true;
}

void talker(const Options *options) { send_all(topic("chatter", &bench_Text_desc), write_text, options); }

void listener(const Options *options) {
  const ReaderSet texts = reader_set_of("chatter", &bench_Text_desc, options);
  run_receiver(&texts, on_text, options);
}

void para_in(const Options *options) { send_all(topic("para", &bench_TwoInts_desc), write_para, options); }

void para_add(const Options *options) {
  End end = new_end(options);
  publish_on(&end, topic("sum", &bench_TwoInts_desc));
  const ReaderSet paras = reader_set_of("para", &bench_TwoInts_desc, options);
  stop_on_eof();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&paras);
  send_ready();
  dispatch_all(&paras, on_para, &end);
}

void add(const Options *options) {
  const ReaderSet sums = reader_set_of("sum", &bench_TwoInts_desc, options);
  run_receiver(&sums, on_sum, options);
}
