// Topics of this run alone, and those who wait for their messages: a waitset wakes for them, and once the bench has gone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <dds/dds.h>

#include "options.h"

// Begins to take part, and ends it.
void open_participant(void);
void close_participant(void);

// An entity or a count as it is; an error of DDS ends the program.
int32_t checked(int32_t result, const char *what);

dds_entity_t topic(const char *name, const dds_topic_descriptor_t *type);
dds_entity_t writer_of(dds_entity_t topic, const Options *options);
dds_entity_t reader_of(dds_entity_t topic, const Options *options);

// Readers, each attached to the waitset with its place.
typedef struct {
  size_t count;
  dds_entity_t *readers, waitset;
  dds_attach_t *woken;
} Inlet;

Inlet inlet_for(size_t readers);
void attach(Inlet *inlet, dds_entity_t reader);
Inlet inlet_of(const char *name, const dds_topic_descriptor_t *type, const Options *options);

void write_message(dds_entity_t writer, const void *message);

// Called for each message; false ends the exchange.
typedef bool Take(void *end, const void *message);

// Waits for at most so many nanoseconds, and hands the messages over that have come; false once `take` has broken off
// or the bench has gone.
bool wait_and_take(const Inlet *inlet, dds_duration_t most, Take *take, void *end);

// Hands each message over as it comes, until `take` breaks off or the bench has gone.
void each(const Inlet *inlet, Take *take, void *end);

// Waits for so many; an error ends the program.
void wait_for_readers(dds_entity_t writer, uint64_t count);

// Waits for one for each reader.
void wait_for_writers(const Inlet *inlet);

// Has every wait end once the bench closes standard input.
void end_with_bench(void);
