// Makes an endpoint of every profile on one topic: `matrix TOPIC writers|readers TAG`. See peers/rclpy/matrix.py.
#include "matrix.h"

#include "peer.hpp"

using namespace peer;

class Told : public fast::DataWriterListener, public fast::DataReaderListener {
 public:
  explicit Told(unsigned number) : number_(number) {}
  void on_publication_matched(fast::DataWriter*, const fast::PublicationMatchedStatus& status) override {
    say("%u matched %d", number_, status.current_count);
  }
  void on_subscription_matched(fast::DataReader*, const fast::SubscriptionMatchedStatus& status) override {
    say("%u matched %d", number_, status.current_count);
  }
  void on_offered_incompatible_qos(fast::DataWriter*, const fast::OfferedIncompatibleQosStatus& status) override {
    say("%u refused %u", number_, status.total_count);
  }
  void on_requested_incompatible_qos(fast::DataReader*, const fast::RequestedIncompatibleQosStatus& status) override {
    say("%u refused %u", number_, status.total_count);
  }

 private:
  unsigned number_;
};

/// The words by which a talker or a listener would ask for a profile.
static Words words_of_number(const Matrix& matrix, unsigned number) {
  const Profile profile = profile_of(number);
  Words words{};
  memcpy(words.topic, matrix.topic, sizeof words.topic);
  words.kind = TEXT;
  words.depth = profile.keeps_all ? 0 : 1000;
  words.deadline = profile.deadline;
  words.lifespan = -1;
  words.lease = profile.lease;
  words.best_effort = !profile.reliable;
  words.transient_local = profile.transient_local;
  words.manual_by_topic = profile.manual_by_topic;
  return words;
}

static void write_all(const Matrix& matrix, Place& place) {
  auto* publisher = place.participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  std::vector<fast::DataWriter*> writers;
  for (unsigned number = 0; number < PROFILES; ++number) {
    fast::DataWriterQos qos;
    set(qos, words_of_number(matrix, number));
    qos.publish_mode().kind = fast::SYNCHRONOUS_PUBLISH_MODE;
    writers.push_back(publisher->create_datawriter(place.topic, qos, new Told(number)));
    if (!writers.back()) fail("writer", "refused");
  }
  say("ready");
  while (!asked_to_end) {
    for (unsigned number = 0; number < PROFILES; ++number) {
      const std::string text = std::string(matrix.tag) + " " + std::to_string(number);
      const Body body = body_of(TEXT, 0, reinterpret_cast<const uint8_t*>(text.data()), text.size());
      Message message(body.bytes, body.bytes + body.size);
      free(body.bytes);
      if (!writers[number]->write(&message)) fail("write", "refused");
    }
    for (int turn = 0; turn < 20 && !asked_to_end; ++turn) rest(50);
  }
}

static void read_all(const Matrix& matrix, Place& place) {
  static Heard heard;
  auto* subscriber = place.participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  std::vector<fast::DataReader*> readers(PROFILES);
  for (unsigned number = PROFILES; number-- > 0;) {
    fast::DataReaderQos qos;
    set(qos, words_of_number(matrix, number));
    readers[number] = subscriber->create_datareader(place.topic, qos, new Told(number));
    if (!readers[number]) fail("reader", "refused");
  }
  say("ready");
  for (; !asked_to_end; rest(20))
    for (unsigned number = 0; number < PROFILES; ++number) {
      Message message;
      fast::SampleInfo info;
      while (readers[number]->take_next_sample(&message, &info) == ReturnCode_t::RETCODE_OK)
        if (info.valid_data && message.size() > 4) hear(&heard, number, reinterpret_cast<const char*>(&message[4]));
    }
}

int main(int argc, char** argv) {
  const Matrix matrix = matrix_of(argc, argv);
  Place place(words_of_number(matrix, 0));
  matrix.writes ? write_all(matrix, place) : read_all(matrix, place);
}
