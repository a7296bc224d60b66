#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "talk.h"

uint64_t number(const char *text) {
  char *end;
  const uint64_t value = strtoull(text, &end, 10);
  if (end == text || *end) fail("not a number: %s", text);
  return value;
}

static void set_sizes(Options *options, const char *value) {
  char *end = (char *)value;
  do {
    if (options->size_count == SIZES) fail("more than %d sizes", SIZES);
    options->sizes[options->size_count++] = strtoull(end, &end, 10);
  } while (*end++ == ',');
  if (end[-1]) fail("not sizes: %s", value);
}

static void set_option(Options *options, const char *name, const char *value) {
  if (!strcmp(name, "--size")) options->size = number(value);
  if (!strcmp(name, "--count")) options->count = number(value);
  if (!strcmp(name, "--warm-up")) options->warm_up = number(value);
  if (!strcmp(name, "--depth")) options->depth = number(value);
  if (!strcmp(name, "--rate")) options->rate = number(value);
  if (!strcmp(name, "--watermark")) options->watermark = number(value);
  if (!strcmp(name, "--topics")) options->topics = number(value);
  if (!strcmp(name, "--subscribers")) options->subscribers = number(value);
  if (!strcmp(name, "--qos")) {
    options->best_effort = !strcmp(value, "best-effort");
    options->keep_all = !strcmp(value, "keep-all");
  }
  if (!strcmp(name, "--sizes")) set_sizes(options, value);
  if (!strcmp(name, "--touch")) {
    options->reads = !strcmp(value, "read");
    options->writes = options->reads || !strcmp(value, "write");
  }
  if (!strcmp(name, "--sent")) options->sent = value;
  if (!strcmp(name, "--received")) options->received = value;
}

Options options_of(int argc, char **argv) {
  Options options = {.role = argc > 1 ? argv[1] : "", .sent = "", .received = ""};
  for (int i = 2; i + 1 < argc; i += 2) set_option(&options, argv[i], argv[i + 1]);
  if (options.size < sizeof(uint64_t)) options.size = sizeof(uint64_t);
  if (options.depth < 1) options.depth = 1;
  if (options.subscribers < 1) options.subscribers = 1;
  options.total = options.warm_up + options.count;
  return options;
}

uint32_t size_of(const Options *options, uint64_t number) {
  uint64_t size = options->size;
  if (options->size_count > 0) {
    const uint64_t each = options->total / options->size_count;
    const uint64_t index = each > 0 ? number / each : 0, last = options->size_count - 1;
    size = options->sizes[index < last ? index : last];
  }
  return (uint32_t)(size < sizeof number ? sizeof number : size);
}
