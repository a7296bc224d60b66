// Time stamps of sent and received messages, and deadlines of messages.
#pragma once

#include "options.h"

// Time stamps, without those of the warm-up: pairs of number and nanoseconds.
typedef struct {
  uint64_t warm_up;
  size_t length, capacity;
  uint64_t *words;
} Stamps;

Stamps stamps_of(const Options *options);
uint64_t nanoseconds(void);
void stamp(Stamps *stamps, uint64_t message);
void write_stamps(const Stamps *stamps, const char *path);

// Deadlines of messages; a late message does not shift the others. Without a rate each is due immediately.
typedef struct {
  uint64_t rate, start;
} Pace;

uint64_t due_time(Pace *pace, uint64_t number);
void wait_until_due(Pace *pace, uint64_t number);
