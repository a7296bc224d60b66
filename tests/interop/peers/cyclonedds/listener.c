// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. Of keyed messages also
// `gone KEY disposed|unregistered`.
#include "peer.h"

static void got(Kind kind, unsigned long number, const void *message) {
  const Text *text = message;
  const Octets *octets = message;
  const Keyed *keyed = message;
  const char *words = kind == TEXT ? text->data : kind == KEYED ? keyed->data : "";
  const uint8_t *data = kind == OCTETS ? octets->data._buffer : (const uint8_t *)words;
  const size_t size = kind == OCTETS ? octets->data._length : strlen(words);
  const Body body = body_of(kind, kind == KEYED ? keyed->id : 0, data, size);
  tell("got", number, body);
  free(body.bytes);
}

static void gone(Kind kind, const void *message, dds_instance_state_t state) {
  const bool disposed = state == DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;
  if (kind == KEYED) say("gone %d %s", ((const Keyed *)message)->id, disposed ? "disposed" : "unregistered");
}

int main(int argc, char **argv) {
  const Words words = words_of(argc, argv);
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const dds_entity_t reader =
      checked(dds_create_reader(participant, topic_of(participant, &words), qos_of(&words), events()), "reader");
  const dds_entity_t waitset = checked(dds_create_waitset(participant), "waitset");
  const dds_entity_t condition = checked(dds_create_readcondition(reader, DDS_ANY_STATE), "condition");
  checked(dds_waitset_attach(waitset, condition, 0), "waitset");
  say("ready");
  unsigned long received = 0;
  while (!asked_to_end && (words.count == 0 || received < words.count)) {
    checked(dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(50)), "wait");
    void *sample = NULL;
    dds_sample_info_t info;
    while ((words.count == 0 || received < words.count) && checked(dds_take(reader, &sample, &info, 1, 1), "take") > 0) {
      info.valid_data ? got(words.kind, ++received, sample) : gone(words.kind, sample, info.instance_state);
      checked(dds_return_loan(reader, &sample, 1), "return");
      sample = NULL;
    }
  }
  if (words.count != 0 && received == words.count) say("done");
  checked(dds_delete(participant), "end");
}
