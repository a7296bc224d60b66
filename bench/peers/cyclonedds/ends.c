// Ends of the bench's exchanges on Cyclone DDS. bench/README.md describes the protocol between an end and the bench.
//
//   ends ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE] [--rate HZ] [--watermark N]
//     [--sizes B,B,..] [--topics N] [--subscribers N] [--touch none|write|read]
//     [--qos reliable|best-effort|keep-all]
//   ends idle --size BYTES --depth N
#include <string.h>

#include "end.h"
#include "roles.h"
#include "talk.h"
#include "topics.h"

typedef struct {
  const char *name;
  void (*run)(const Options *options);
} Role;

static bool ignore(void *end, const void *message) {
  (void)end, (void)message;
  return true;
}

// Keeps one idle writer and one idle reader until the bench closes standard input.
static void idle(const Options *options) {
  writer_of(topic("status", &bench_Message_desc), options);
  const ReaderSet readers = reader_set_of("commands", &bench_Message_desc, options);
  stop_on_eof();
  dispatch_all(&readers, ignore, NULL);
}

static const Role *role_of(const Options *options) {
  static const Role roles[] = {{"ping", ping},     {"pong", pong},         {"source", source},
                               {"sink", sink},     {"talker", talker},     {"listener", listener},
                               {"para-in", para_in}, {"para-add", para_add}, {"add", add},
                               {"idle", idle}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; ++i) {
    if (!strcmp(options->role, roles[i].name)) return &roles[i];
  }
  fail("unknown role '%s'", options->role);
  return NULL;
}

int main(int argc, char **argv) {
  const Options options = options_of(argc, argv);
  const Role *role = role_of(&options);
  open_participant();
  role->run(&options);
  close_participant();
  return 0;
}
