#include "talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  exit(1);
}

void *memory(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory) fail("no memory for %zu bytes", size);
  return memory;
}

void send_ready(void) {
  puts("ready");
  fflush(stdout);
}

bool read_line(void) {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

void wait_for_start(void) {
  if (!read_line()) fail("the bench has ended");
}

void wait_for_end(void) {
  while (read_line()) {
  }
}
