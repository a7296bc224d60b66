// What the roles share: an end with what it publishes on and what it notes.
#pragma once

#include "message.h"
#include "options.h"
#include "stamps.h"
#include "topics.h"

typedef struct {
  const Options *options;
  // What it publishes on.
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

// Sends a message with the number, on the first topic or another.
void send_message(End *end, uint64_t number);
void send_message_on(End *end, size_t writer, uint64_t number);

// Notes that a message has come; false if it is the last one.
bool take_number(End *end, uint64_t number);

// Plays an end that takes all messages.
void take_all(const Inlet *inlet, Take *take, const Options *options);

// The same for all topics of a name where there are several.
void publish_on_all(End *end, const char *name);
Inlet inlet_of_all(const char *name, const Options *options);
