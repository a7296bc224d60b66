// Small messages: texts, and pairs of integers through a chain of three ends.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "end.h"
#include "roles.h"
#include "talk.h"

// Most bytes of a text, its end included.
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

// Sends all messages, each when it is due.
static void send_all(dds_entity_t topic, void (*write)(dds_entity_t, uint64_t), const Options *options) {
  Stamps sent = stamps_of(options);
  Pace pace = {.rate = options->rate};
  const dds_entity_t writer = writer_of(topic, options);
  wait_for_readers(writer, 1);
  say_ready();
  wait_for_go();
  for (uint64_t number = 0; number < options->total; ++number) {
    wait_until_due(&pace, number);
    stamp(&sent, number);
    write(writer, number);
  }
  wait_for_end();
  write_stamps(&sent, options->sent);
}

static bool take_text(void *end, const void *message) {
  const bench_Text *text = message;
  if (strncmp(text->data, greeting, sizeof greeting - 1)) fail("not a text that was sent: %s", text->data);
  return take_number(end, number(text->data + sizeof greeting - 1));
}

static bool take_sum(void *end, const void *message) {
  const bench_TwoInts *sum = message;
  if (sum->b != sum->a + 1) fail("%d and 1 are not %d", sum->a, sum->b);
  return take_number(end, (uint64_t)sum->a);
}

static bool add_para(void *data, const void *message) {
  const End *end = data;
  const bench_TwoInts *para = message;
  write_message(end->writers[0], &(bench_TwoInts){.a = para->a, .b = para->a + para->b});
  return true;
}

void talker(const Options *options) { send_all(topic("chatter", &bench_Text_desc), write_text, options); }

void listener(const Options *options) {
  const Inlet texts = inlet_of("chatter", &bench_Text_desc, options);
  take_all(&texts, take_text, options);
}

void para_in(const Options *options) { send_all(topic("para", &bench_TwoInts_desc), write_para, options); }

void para_add(const Options *options) {
  End end = end_of(options);
  publish_on(&end, topic("sum", &bench_TwoInts_desc));
  const Inlet paras = inlet_of("para", &bench_TwoInts_desc, options);
  end_with_bench();
  wait_for_all_readers(&end, 1);
  wait_for_writers(&paras);
  say_ready();
  each(&paras, add_para, &end);
}

void add(const Options *options) {
  const Inlet sums = inlet_of("sum", &bench_TwoInts_desc, options);
  take_all(&sums, take_sum, options);
}
