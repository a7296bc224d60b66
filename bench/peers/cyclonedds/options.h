// Command line of an end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Maximum number of values of --sizes.
#define SIZES 64

typedef struct {
  const char *role, *sent, *received;
  uint64_t size, count, warm_up, depth, total, rate, watermark, topics, subscribers;
  uint64_t sizes[SIZES];
  size_t size_count;
  bool writes, reads, best_effort, keep_all;
} Options;

uint64_t number(const char *text);
Options options_of(int argc, char **argv);

// Bytes of a message: the sizes follow each other in equal shares.
uint32_t size_of(const Options *options, uint64_t number);
