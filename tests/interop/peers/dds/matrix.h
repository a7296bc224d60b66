// Every profile of a topic, as peers/rclpy/matrix.py makes them: `matrix TOPIC writers|readers TAG`.
#pragma once

#include "words.h"

enum { PROFILES = 72 };

// Of what has no time, that is below zero.
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
  signal(SIGINT, ask_to_end);
  signal(SIGTERM, ask_to_end);
  return matrix;
}

// What the readers have heard. There are at most two tags.
typedef struct {
  char tags[2][32];
  bool heard[PROFILES][2][PROFILES];
} Heard;

// Tells of the first message of each writer.
static inline void hear(Heard *heard, unsigned reader, const char *text) {
  char tag[32];
  unsigned writer;
  if (sscanf(text, "%31s %u", tag, &writer) != 2 || writer >= PROFILES) fail(text, "no message of a matrix");
  unsigned place = 0;
  while (place < 2 && heard->tags[place][0] && strcmp(heard->tags[place], tag) != 0) ++place;
  if (place == 2) fail(tag, "a third tag");
  snprintf(heard->tags[place], sizeof heard->tags[place], "%s", tag);
  if (!heard->heard[reader][place][writer]) say("%u heard %s", reader, text);
  heard->heard[reader][place][writer] = true;
}
