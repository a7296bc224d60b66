#include "stamps.h"

#include <stdio.h>
#include <time.h>

#include "talk.h"

#define SECOND UINT64_C(1000000000)

Stamps stamps_of(const Options *options) {
  // Duplicates are recorded, too.
  const size_t capacity = 4 * options->count;
  return (Stamps){.warm_up = options->warm_up, .capacity = capacity, .words = memory(capacity * sizeof(uint64_t))};
}

uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stamp(Stamps *stamps, uint64_t message) {
  if (message < stamps->warm_up || stamps->length == stamps->capacity) return;
  stamps->words[stamps->length++] = message;
  stamps->words[stamps->length++] = nanoseconds();
}

void write_stamps(const Stamps *stamps, const char *path) {
  FILE *file = fopen(path, "wb");
  const size_t written = file ? fwrite(stamps->words, sizeof(uint64_t), stamps->length, file) : 0;
  if (!file || fclose(file) || written != stamps->length) fail("cannot write %s", path);
}

uint64_t due_time(Pace *pace, uint64_t number) {
  if (!pace->rate) return 0;
  if (!pace->start) pace->start = nanoseconds();
  return pace->start + number * SECOND / pace->rate;
}

void wait_until_due(Pace *pace, uint64_t number) {
  const uint64_t at = due_time(pace, number);
  const struct timespec time = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};
  // A signal ends it early.
  while (nanoseconds() < at) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}
