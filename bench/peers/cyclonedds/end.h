// What the roles share: an end with what it publishes on and what it notes.
#pragma once

#include "message.h"
#include "options.h"
#include "stamps.h"
#include "topics.h"

typedef struct {
  const Options *options;
  // What it publishes on, by turns.
  size_t writer_count;
  dds_entity_t *writers;
  bench_Message message;
  uint64_t answered;
  Stamps sent, received;
} End;

End end_of(const Options *options);
void publish_on(End *end, dds_entity_t topic);
void wait_for_all_readers(const End *end, uint64_t count);

uint64_t number_of(const bench_Message *message);

// Sends a message with the number.
void send_message(End *end, uint64_t number);

// Notes that a message has come; false if it is the last one.
bool take_number(End *end, uint64_t number);

// Takes all messages of a topic.
void take_all(const char *name, const dds_topic_descriptor_t *type, Take *take, const Options *options);

// The topics that messages take by turns.
size_t topic_count(const Options *options);
dds_entity_t question(size_t index, const Options *options);
