// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends it. With
// `--dispose`, the instances of keyed messages are disposed of before that.
//
// Prints `ready` once it publishes, and as events `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL` and
// `liveliness lost TOTAL`.
#include "peer.hpp"

using namespace peer;

class Events : public fast::DataWriterListener {
 public:
  void on_publication_matched(fast::DataWriter*, const fast::PublicationMatchedStatus& status) override {
    readers = status.current_count;
    say("matched %d", status.current_count);
  }
  void on_offered_incompatible_qos(fast::DataWriter*, const fast::OfferedIncompatibleQosStatus& status) override {
    say("incompatible %s %u", policy(status.last_policy_id), status.total_count);
  }
  void on_offered_deadline_missed(fast::DataWriter*, const fast::OfferedDeadlineMissedStatus& status) override {
    say("deadline missed %u", status.total_count);
  }
  void on_liveliness_lost(fast::DataWriter*, const fast::LivelinessLostStatus& status) override {
    say("liveliness lost %u", status.total_count);
  }

  std::atomic<int32_t> readers{0};
};

static Message message_of(const Words& words, uint32_t number) {
  const size_t wished = size_of(&words, number);
  uint8_t* data = payload(words.kind, number, wished);
  const size_t size = words.kind == OCTETS ? wished : strlen(reinterpret_cast<char*>(data));
  const Body body = body_of(words.kind, key_of(number), data, size);
  const Message message(body.bytes, body.bytes + body.size);
  tell("sent", number, body);
  free(body.bytes);
  free(data);
  return message;
}

static void dispose(fast::DataWriter* writer) {
  for (uint32_t key = 0; key < 3; ++key) {
    Message message(12);
    message[0] = static_cast<uint8_t>(key);
    writer->dispose(&message, fast::HANDLE_NIL);
  }
}

int main(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  Place place(words);
  Events events;
  auto* publisher = place.participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  fast::DataWriterQos qos;
  set(qos, words);
  qos.publish_mode().kind = fast::SYNCHRONOUS_PUBLISH_MODE;
  auto* writer = publisher->create_datawriter(place.topic, qos, &events);
  if (!writer) fail("writer", "refused");
  say("ready");
  while (!asked_to_end && !may_begin(&words, static_cast<unsigned long>(events.readers))) rest(10);
  for (uint32_t number = 1; !asked_to_end && (words.count == 0 || number <= words.count); ++number) {
    Message message = message_of(words, number);
    if (!writer->write(&message)) fail("write", "refused");
    if (words.rate > 0) rest(static_cast<unsigned>(1000 / words.rate));
  }
  if (words.dispose && words.kind == KEYED) dispose(writer);
  say("done");
  while (!asked_to_end) rest(50);
}
