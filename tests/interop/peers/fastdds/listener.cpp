// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. Of keyed messages also
// `gone disposed|unregistered`.
//
// Prints `ready` once it has subscribed, and as events `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`,
// `liveliness ALIVE DEAD` and `lost TOTAL`.
#include "peer.hpp"

using namespace peer;

class Events : public fast::DataReaderListener {
 public:
  void on_subscription_matched(fast::DataReader*, const fast::SubscriptionMatchedStatus& status) override {
    say("matched %d", status.current_count);
  }
  void on_requested_incompatible_qos(fast::DataReader*, const fast::RequestedIncompatibleQosStatus& status) override {
    say("incompatible %s %u", policy(status.last_policy_id), status.total_count);
  }
  void on_requested_deadline_missed(fast::DataReader*, const fast::RequestedDeadlineMissedStatus& status) override {
    say("deadline missed %u", status.total_count);
  }
  void on_liveliness_changed(fast::DataReader*, const fast::LivelinessChangedStatus& status) override {
    say("liveliness %d %d", status.alive_count, status.not_alive_count);
  }
  void on_sample_lost(fast::DataReader*, const fast::SampleLostStatus& status) override {
    say("lost %d", status.total_count);
  }
};

int main(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  Place place(words);
  Events events;
  auto* subscriber = place.participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  fast::DataReaderQos qos;
  set(qos, words);
  auto* reader = subscriber->create_datareader(place.topic, qos, &events);
  if (!reader) fail("reader", "refused");
  say("ready");
  unsigned long received = 0;
  while (!asked_to_end && (words.count == 0 || received < words.count)) {
    Message message;
    fast::SampleInfo info;
    if (!reader->wait_for_unread_message(duration(0.05)) || !reader->take_next_sample(&message, &info)) continue;
    if (info.valid_data) {
      tell("got", ++received, Body{message.data(), message.size()});
    } else {
      say("gone %s", info.instance_state == fast::NOT_ALIVE_DISPOSED_INSTANCE_STATE ? "disposed" : "unregistered");
    }
  }
  if (words.count != 0 && received == words.count) say("done");
}
