// QoS profiles of peers/rclpy/matrix.py: `matrix TOPIC writers|readers TAG`.
#pragma once

#include "options.h"

enum { PROFILES = 72 };

// Times in seconds; negative if infinite.
typedef struct {
  bool reliable, transient_local, manual_by_topic, keeps_all;
  double deadline, lease;
} Profile;

static inline Profile profile_of(unsigned number) {
  static const double seconds[] = {-1, 120, 60};
  const Profile profile = {number % 2 == 1, number / 2 % 2 == 1, number / 4 % 2 == 1, number % 5 == 0,
                           seconds[number / 8 % 3], seconds[number / 24]};
  return profile;
}

// The command line.
typedef struct {
  char topic[256];
  bool writes;
  const char *tag;
} Matrix;

static inline Matrix matrix_of(int argc, char **argv) {
  if (argc != 4) fail(argv[0], "usage: TOPIC writers|readers TAG");
  Matrix matrix = {"", chosen(argv[2], "readers", "writers"), argv[3]};
  snprintf(matrix.topic, sizeof matrix.topic, "rt%s", argv[1]);
  signal(SIGINT, request_stop);
  signal(SIGTERM, request_stop);
  return matrix;
}

// Received messages by reader, tag and writer. There are at most two tags.
typedef struct {
  char tags[2][32];
  bool received[PROFILES][2][PROFILES];
} ReceptionLog;

// Prints the first message of each writer.
static inline void log_first(ReceptionLog *log, unsigned reader, const char *text) {
  char tag[32];
  unsigned writer;
  if (sscanf(text, "%31s %u", tag, &writer) != 2 || writer >= PROFILES) fail(text, "not a message of a matrix");
  unsigned index = 0;
  while (index < 2 && log->tags[index][0] && strcmp(log->tags[index], tag) != 0) ++index;
  if (index == 2) fail(tag, "a third tag");
  snprintf(log->tags[index], sizeof log->tags[index], "%s", tag);
  if (!log->received[reader][index][writer]) print_line("%u heard %s", reader, text);
  log->received[reader][index][writer] = true;
}
