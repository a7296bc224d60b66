// Reading and writing of messages in ROS 2's encoding (XCDR1, little-endian): a header of four bytes, then the fields,
// numbers at multiples of their size from the end of the header.
#ifndef CDR_H
#define CDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CDR_HEADER = 4 };

// A message in memory. `is_valid` becomes false at its end.
typedef struct {
  uint8_t *bytes;
  size_t length;
  size_t position;
  bool is_valid;
} cdr;

// A message to be read.
static inline cdr cdr_reader(void *bytes, size_t length) {
  const bool is_little_endian = length >= CDR_HEADER && ((const uint8_t *)bytes)[1] == 1;
  return (cdr){(uint8_t *)bytes, length, CDR_HEADER, is_little_endian};
}

// A message to be written into `capacity` bytes. Its length is `position`.
static inline cdr cdr_writer(void *bytes, size_t capacity) {
  static const uint8_t header[CDR_HEADER] = {0, 1, 0, 0};
  memcpy(bytes, header, CDR_HEADER);
  return (cdr){(uint8_t *)bytes, capacity, CDR_HEADER, true};
}

// The place of the next value of `size` bytes; null if there is no space for it.
static inline void *cdr_next(cdr *message, size_t size, size_t alignment) {
  const size_t padding = (CDR_HEADER - message->position) & (alignment - 1);
  if (!message->is_valid || message->length - message->position < padding ||
      message->length - message->position - padding < size) {
    message->is_valid = false;
    return NULL;
  }
  void *value = message->bytes + message->position + padding;
  message->position += padding + size;
  return value;
}

static inline int64_t cdr_read_int64(cdr *message) {
  int64_t value = 0;
  const void *from = cdr_next(message, sizeof value, sizeof value);
  if (from) memcpy(&value, from, sizeof value);
  return value;
}

static inline uint32_t cdr_read_uint32(cdr *message) {
  uint32_t value = 0;
  const void *from = cdr_next(message, sizeof value, sizeof value);
  if (from) memcpy(&value, from, sizeof value);
  return value;
}

// A text with its final zero; an empty one if it cannot be read.
static inline const char *cdr_read_string(cdr *message) {
  const uint32_t length = cdr_read_uint32(message);
  const char *text = (const char *)cdr_next(message, length, 1);
  if (!text || length == 0 || text[length - 1] != '\0') {
    message->is_valid = false;
    return "";
  }
  return text;
}

// Writes a number at its alignment; the bytes before it are zero.
static inline void cdr_write(cdr *message, const void *value, size_t size) {
  const size_t before = message->position;
  void *to = cdr_next(message, size, size);
  if (!to) return;
  memset(message->bytes + before, 0, message->position - size - before);
  memcpy(to, value, size);
}

static inline void cdr_write_int64(cdr *message, int64_t value) { cdr_write(message, &value, sizeof value); }

static inline void cdr_write_string(cdr *message, const char *text) {
  const uint32_t length = (uint32_t)strlen(text) + 1;
  cdr_write(message, &length, sizeof length);
  void *to = cdr_next(message, length, 1);
  if (to) memcpy(to, text, length);
}

#endif
