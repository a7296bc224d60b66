#include "end.h"

#include <stdio.h>
#include <string.h>

#include "talk.h"

static bench_Message new_message(const Options *options) {
  const uint32_t size = (uint32_t)options->size;
  // The payload is written so that it has its own memory: untouched pages of zeros all share one page.
  bench_Message message = {.data = {._maximum = size, ._length = size, ._buffer = memory(size)}};
  memset(message.data._buffer, 1, size);
  return message;
}

static size_t topic_count(const Options *options) { return options->topics ? options->topics : 1; }

End new_end(const Options *options) {
  return (End){.options = options,
               .writers = memory(topic_count(options) * sizeof(dds_entity_t)),
               .message = new_message(options),
               .sent = stamps_of(options),
               .received = stamps_of(options)};
}

void publish_on(End *end, dds_entity_t topic) {
  end->writers[end->writer_count++] = writer_of(topic, end->options);
}

void wait_for_all_readers(const End *end, uint64_t count) {
  for (size_t i = 0; i < end->writer_count; ++i) wait_for_readers(end->writers[i], count);
}

uint64_t number_of(const bench_Message *message) {
  uint64_t number = 0;
  if (message->data._length >= sizeof number) memcpy(&number, message->data._buffer, sizeof number);
  return number;
}

static void set_number(bench_Message *message, uint64_t number) {
  memcpy(message->data._buffer, &number, sizeof number);
}

// Writes all bytes after the number.
static void fill(bench_Message *message, uint64_t number) {
  memset(message->data._buffer + sizeof number, (uint8_t)number, message->data._length - sizeof number);
}

void send_message(End *end, uint64_t number) { send_message_on(end, 0, number); }

void send_message_on(End *end, size_t writer, uint64_t number) {
  end->message.data._length = size_of(end->options, number);
  set_number(&end->message, number);
  stamp(&end->sent, number);
  if (end->options->writes) fill(&end->message, number);
  write_message(end->writers[writer], &end->message);
}

bool record_received(End *end, uint64_t number) {
  stamp(&end->received, number);
  return number + 1 < end->options->total;
}

void run_receiver(const ReaderSet *readers, OnMessage *on_message, const Options *options) {
  End end = new_end(options);
  stop_on_eof();
  wait_for_writers(readers);
  send_ready();
  dispatch_all(readers, on_message, &end);
  write_stamps(&end.received, options->received);
}

dds_entity_t indexed_topic(const char *name, size_t index, const Options *options) {
  char numbered[32];
  if (!options->topics) return topic(name, &bench_Message_desc);
  snprintf(numbered, sizeof numbered, "%s_%zu", name, index);
  return topic(numbered, &bench_Message_desc);
}

void publish_on_all(End *end, const char *name) {
  for (size_t i = 0; i < topic_count(end->options); ++i) publish_on(end, indexed_topic(name, i, end->options));
}

ReaderSet reader_set_of_all_topics(const char *name, const Options *options) {
  ReaderSet readers = new_reader_set(topic_count(options));
  for (size_t i = 0; i < topic_count(options); ++i) attach(&readers, reader_of(indexed_topic(name, i, options), options));
  return readers;
}
