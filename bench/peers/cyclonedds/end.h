// State of an end, shared by all roles: its writers, its message and its time stamps.
#pragma once

#include "message.h"
#include "options.h"
#include "stamps.h"
#include "topics.h"

typedef struct {
  const Options *options;
  size_t writer_count;
  dds_entity_t *writers;
  bench_Message message;
  uint64_t answered;
  Stamps sent, received;
} End;

End new_end(const Options *options);
void publish_on(End *end, dds_entity_t topic);
void wait_for_all_readers(const End *end, uint64_t count);

uint64_t number_of(const bench_Message *message);

// Sends a message with this number, on the first topic or on the given one.
void send_message(End *end, uint64_t number);
void send_message_on(End *end, size_t writer, uint64_t number);

// Records that a message was received; false if it is the last one.
bool record_received(End *end, uint64_t number);

// Runs an end that receives all messages.
void run_receiver(const ReaderSet *readers, OnMessage *on_message, const Options *options);

// Creates the writers or readers of all topics with this name.
void publish_on_all(End *end, const char *name);
ReaderSet reader_set_of_all_topics(const char *name, const Options *options);
