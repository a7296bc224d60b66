// Shared parts of talker.cpp and listener.cpp: participant, serialized messages, quality of service.
#pragma once

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "options.h"

namespace peer {

namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

/// A serialized message, without the encapsulation header.
using Message = std::vector<uint8_t>;

inline uint32_t number_at(const Message& message, size_t offset) {
  uint32_t number = 0;
  if (offset + sizeof number <= message.size()) std::memcpy(&number, message.data() + offset, sizeof number);
  return number;
}

/// Removes the padding after the message.
inline void trim(Kind kind, Message& message) {
  const size_t header_size = kind == TEXT ? 4 : kind == KEYED ? 8 : 12;
  const size_t size = header_size + number_at(message, header_size - 4);
  if (size < message.size()) message.resize(size);
}

/// Type support of serialized messages: adds and removes the encapsulation header.
class Type : public fast::TopicDataType {
 public:
  explicit Type(Kind kind) : kind_(kind) {
    setName(dds_name_of(kind));
    m_typeSize = 4;
    m_isGetKeyDefined = kind == KEYED;
  }

  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    const auto& message = *static_cast<Message*>(data);
    const uint8_t header[] = {0, 1, 0, 0};
    payload->encapsulation = CDR_LE;
    payload->length = static_cast<uint32_t>(sizeof header + message.size());
    std::memcpy(payload->data, header, sizeof header);
    std::memcpy(payload->data + sizeof header, message.data(), message.size());
    return true;
  }

  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    if (payload->length < 4) return false;
    auto& message = *static_cast<Message*>(data);
    message.assign(payload->data + 4, payload->data + payload->length);
    trim(kind_, message);
    return true;
  }

  std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
    return [data] { return static_cast<uint32_t>(4 + static_cast<Message*>(data)->size()); };
  }

  void* createData() override { return new Message; }
  void deleteData(void* data) override { delete static_cast<Message*>(data); }

  bool getKey(void* data, rtps::InstanceHandle_t* handle, bool) override {
    if (kind_ != KEYED) return false;
    const uint32_t key = number_at(*static_cast<Message*>(data), 0);
    for (int i = 0; i < 16; ++i) handle->value[i] = i < 4 ? static_cast<uint8_t>(key >> (24 - 8 * i)) : 0;
    return true;
  }

 private:
  Kind kind_;
};

inline eprosima::fastrtps::Duration_t duration(double seconds) {
  return eprosima::fastrtps::Duration_t(static_cast<long double>(seconds));
}

/// Sets the QoS of the command line.
template <class Qos>
void set(Qos& qos, const Options& options) {
  const auto depth = static_cast<int32_t>(options.depth);
  qos.reliability().kind = options.best_effort ? fast::BEST_EFFORT_RELIABILITY_QOS : fast::RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = options.transient_local ? fast::TRANSIENT_LOCAL_DURABILITY_QOS : fast::VOLATILE_DURABILITY_QOS;
  qos.history().kind = depth ? fast::KEEP_LAST_HISTORY_QOS : fast::KEEP_ALL_HISTORY_QOS;
  if (depth) qos.history().depth = depth;
  qos.resource_limits().max_samples_per_instance = std::max(depth, 1000);
  qos.resource_limits().max_samples = 10 * std::max(depth, 1000);
  qos.liveliness().kind =
      options.manual_by_topic ? fast::MANUAL_BY_TOPIC_LIVELINESS_QOS : fast::AUTOMATIC_LIVELINESS_QOS;
  if (options.lease >= 0) {
    qos.liveliness().lease_duration = duration(options.lease);
    qos.liveliness().announcement_period = duration(options.lease / 3);
  }
  if (options.deadline >= 0) qos.deadline().period = duration(options.deadline);
  if (options.lifespan >= 0) qos.lifespan().duration = duration(options.lifespan);
  qos.endpoint().history_memory_policy = rtps::DYNAMIC_REUSABLE_MEMORY_MODE;
}

/// The participant and the topic of the command line. The destructor announces the end to other participants.
struct TopicContext {
  explicit TopicContext(const Options& options) {
    participant = fast::DomainParticipantFactory::get_instance()->create_participant(
        domain_id(), fast::PARTICIPANT_QOS_DEFAULT);
    if (!participant) fail("participant", "refused");
    fast::TypeSupport type(new Type(options.kind));
    type.register_type(participant);
    topic = participant->create_topic(options.topic, type.get_type_name(), fast::TOPIC_QOS_DEFAULT);
    if (!topic) fail("topic", "refused");
  }

  ~TopicContext() {
    participant->delete_contained_entities();
    fast::DomainParticipantFactory::get_instance()->delete_participant(participant);
  }

  fast::DomainParticipant* participant;
  fast::Topic* topic;
};

/// Sleeps.
inline void sleep_ms(unsigned milliseconds) { usleep(1000 * milliseconds); }

}  // namespace peer
