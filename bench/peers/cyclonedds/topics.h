// DDS entities of an end. Topic names are unique to the run. A waitset wakes for messages, and when the bench ends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <dds/dds.h>

#include "options.h"

// Creates and deletes the participant.
void open_participant(void);
void close_participant(void);

// Returns an entity or a count unchanged; exits on an error of DDS.
int32_t checked(int32_t result, const char *action);

dds_entity_t topic(const char *name, const dds_topic_descriptor_t *type);
dds_entity_t writer_of(dds_entity_t topic, const Options *options);
dds_entity_t reader_of(dds_entity_t topic, const Options *options);

// Readers, each attached to the waitset with its index.
typedef struct {
  size_t count;
  dds_entity_t *readers, waitset;
  dds_attach_t *woken;
} ReaderSet;

ReaderSet new_reader_set(size_t capacity);
void attach(ReaderSet *readers, dds_entity_t reader);
ReaderSet reader_set_of(const char *name, const dds_topic_descriptor_t *type, const Options *options);

void write_message(dds_entity_t writer, const void *message);

// Callback for a message; false ends the exchange.
typedef bool OnMessage(void *end, const void *message);

// Waits at most `timeout` nanoseconds and dispatches the received messages; false once `on_message` has returned false
// or the bench has ended.
bool wait_and_dispatch(const ReaderSet *readers, dds_duration_t timeout, OnMessage *on_message, void *end);

// Dispatches each message until `on_message` returns false or the bench ends.
void dispatch_all(const ReaderSet *readers, OnMessage *on_message, void *end);

// Waits until `count` readers have matched; exits if they do not.
void wait_for_readers(dds_entity_t writer, uint64_t count);

// Waits until each reader has matched a writer.
void wait_for_writers(const ReaderSet *readers);

// Ends every wait once the bench closes standard input.
void stop_on_eof(void);
