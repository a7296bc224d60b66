// The ends of the bench's exchanges on Cyclone DDS. How the bench talks with an end is told in bench/README.md.
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
  void (*play)(const Options *options);
} Role;

static bool ignore(void *end, const void *message) {
  (void)end, (void)message;
  return true;
}

// One publisher and one subscription that have nothing to do, until the bench closes standard input.
static void idle(const Options *options) {
  writer_of(topic("status", &bench_Message_desc), options);
  const Inlet inlet = inlet_of("commands", &bench_Message_desc, options);
  end_with_bench();
  each(&inlet, ignore, NULL);
}

static const Role *role_of(const Options *options) {
  static const Role roles[] = {{"ping", ping},     {"pong", pong},         {"source", source},
                               {"sink", sink},     {"talker", talker},     {"listener", listener},
                               {"para-in", para_in}, {"para-add", para_add}, {"add", add},
                               {"idle", idle}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; ++i) {
    if (!strcmp(options->role, roles[i].name)) return &roles[i];
  }
  fail("there is no role '%s'", options->role);
  return NULL;
}

int main(int argc, char **argv) {
  const Options options = options_of(argc, argv);
  const Role *role = role_of(&options);
  open_participant();
  role->play(&options);
  close_participant();
  return 0;
}
