// What talker.c and listener.c share: quality of service, a message of any kind, and what endpoints are told.
#pragma once

#include <dds/dds.h>

#include "messages.h"
#include "words.h"

typedef std_msgs_msg_dds__String_ Text;
typedef std_msgs_msg_dds__UInt8MultiArray_ Octets;
typedef runnel_test_msg_dds__Keyed_ Keyed;

// The result of a call of Cyclone DDS that must not fail.
int32_t checked(int32_t result, const char *what);

// The topic that the command line names, of a participant.
dds_entity_t topic_of(dds_entity_t participant, const Words *words);

// The quality of service that the command line asks for.
dds_qos_t *qos_of(const Words *words);

// Has an endpoint print `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`, `liveliness lost TOTAL`,
// `liveliness ALIVE DEAD` and `lost TOTAL`.
dds_listener_t *events(void);
