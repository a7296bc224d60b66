// When messages were sent or received, and when they are due.
#pragma once

#include "options.h"

// Those of the warm-up are left out.
typedef struct {
  uint64_t warm_up;
  size_t length, room;
  uint64_t *words;
} Stamps;

Stamps stamps_of(const Options *options);
uint64_t nanoseconds(void);
void stamp(Stamps *stamps, uint64_t message);
void write_stamps(const Stamps *stamps, const char *path);

// One that is late shifts no other. Without a rate each is due at once.
typedef struct {
  uint64_t rate, start;
} Pace;

uint64_t due(Pace *pace, uint64_t number);
void wait_until_due(Pace *pace, uint64_t number);
