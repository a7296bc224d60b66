// Shared parts of talker.c and listener.c: quality of service, topics, and printed events.
#pragma once

#include <dds/dds.h>

#include "messages.h"
#include "options.h"

typedef std_msgs_msg_dds__String_ Text;
typedef std_msgs_msg_dds__UInt8MultiArray_ Octets;
typedef runnel_test_msg_dds__Keyed_ Keyed;

// Returns the result of a call of Cyclone DDS; exits if it is an error.
int32_t checked(int32_t result, const char *action);

// Creates the topic of the command line.
dds_entity_t topic_of(dds_entity_t participant, const Options *options);

// Creates the QoS of the command line.
dds_qos_t *qos_of(const Options *options);

// A listener that prints `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`, `liveliness lost TOTAL`,
// `liveliness ALIVE DEAD` and `lost TOTAL`.
dds_listener_t *events(void);
