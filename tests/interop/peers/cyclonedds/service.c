// A server or a client of std_srvs/SetBool on Cyclone DDS, framed as rmw_cyclonedds frames services: `service NAME server`, or
// `service NAME client COUNT`, which calls with true COUNT times and then with false, or `service NAME pair COUNT`, two
// clients in one participant that do so at the same time, or `service NAME late`, which makes its
// reader of replies only a while after it has sent its request. The server answers true with the number
// of the call, and false with a failure. Prints `ready`, `asked N` or `answered SUCCESS MESSAGE` for each call, and `done`.
// A server also prints `waited N` for each call: the milliseconds until it had matched the client's reader.
#include "peer.h"

typedef std_srvs_srv_dds__SetBool_Request_ Request;
typedef std_srvs_srv_dds__SetBool_Response_ Response;

enum { LONGEST_ID = 128 };

typedef struct {
  dds_entity_t reader, writer;
} Ends;

// Both ends of a service have the same id in their user data.
static dds_qos_t *qos_with(const char *key, uint64_t id) {
  char data[LONGEST_ID];
  int length = snprintf(data, sizeof data, "%s=10", key);
  for (unsigned byte = 0; byte < 15; ++byte)
    length += snprintf(data + length, sizeof data - (size_t)length, ".%x", byte < 8 ? (unsigned)(id >> 8 * byte & 0xff) : 0);
  length += snprintf(data + length, sizeof data - (size_t)length, ";");
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
  dds_qset_userdata(qos, data, (size_t)length);
  return qos;
}

static dds_entity_t topic(dds_entity_t participant, const dds_topic_descriptor_t *type, const char *form, const char *service) {
  char name[256];
  snprintf(name, sizeof name, form, service);
  return checked(dds_create_topic(participant, type, name, NULL, NULL), "topic");
}

// Sends the first request once a server is there, and gives it time to answer.
static void ask_early(dds_entity_t writer, uint64_t client) {
  dds_publication_matched_status_t status = {0};
  for (; !stop_requested && status.current_count == 0; dds_sleepfor(DDS_MSECS(5)))
    checked(dds_get_publication_matched_status(writer, &status), "status");
  const Request request = {client, 1, true};
  checked(dds_write(writer, &request), "write");
  dds_sleepfor(DDS_MSECS(500));
}

// A late client asks before it has its reader.
static Ends ends_of(dds_entity_t participant, const char *service, bool serves, uint64_t id, bool is_late) {
  const dds_entity_t requests = topic(participant, &std_srvs_srv_dds__SetBool_Request__desc, "rq%sRequest", service);
  const dds_entity_t replies = topic(participant, &std_srvs_srv_dds__SetBool_Response__desc, "rr%sReply", service);
  dds_qos_t *qos = qos_with(serves ? "serviceid" : "clientid", id);
  Ends ends = {0, checked(dds_create_writer(participant, serves ? replies : requests, qos, NULL), "writer")};
  if (is_late) ask_early(ends.writer, id);
  ends.reader = checked(dds_create_reader(participant, serves ? requests : replies, qos, NULL), "reader");
  dds_delete_qos(qos);
  return ends;
}

// The value of a key in an endpoint's user data; empty if it has none.
static void id_of(const dds_builtintopic_endpoint_t *endpoint, const char *key, char id[LONGEST_ID]) {
  void *data = NULL;
  size_t length = 0;
  id[0] = '\0';
  if (!endpoint || !dds_qget_userdata(endpoint->qos, &data, &length)) return;
  char *found = data ? strstr((char *)data, key) : NULL;
  if (found) snprintf(id, LONGEST_ID, "%.*s", (int)strcspn(found, ";"), found);
  dds_free(data);
}

// Whether a reader that the writer has matched has this id.
static bool has_reader(dds_entity_t writer, const char *key, const char *id) {
  dds_instance_handle_t readers[64];
  const int32_t count = checked(dds_get_matched_subscriptions(writer, readers, 64), "readers");
  bool found = false;
  for (int32_t place = 0; place < count && !found; ++place) {
    char other[LONGEST_ID];
    dds_builtintopic_endpoint_t *endpoint = dds_get_matched_subscription_data(writer, readers[place]);
    id_of(endpoint, key, other);
    found = other[0] && strcmp(other, id) == 0;
    if (endpoint) dds_builtintopic_free_endpoint(endpoint);
  }
  return found;
}

// Whether a writer that the reader has matched has an id that a matched reader has, too: both ends of a server are there.
static bool is_ready(const Ends *ends) {
  dds_instance_handle_t writers[64];
  const int32_t count = checked(dds_get_matched_publications(ends->reader, writers, 64), "writers");
  bool found = false;
  for (int32_t place = 0; place < count && !found; ++place) {
    char id[LONGEST_ID];
    dds_builtintopic_endpoint_t *endpoint = dds_get_matched_publication_data(ends->reader, writers[place]);
    id_of(endpoint, "serviceid=", id);
    found = id[0] && has_reader(ends->writer, "serviceid=", id);
    if (endpoint) dds_builtintopic_free_endpoint(endpoint);
  }
  return found;
}

static void serve(const Ends *ends) {
  unsigned calls = 0;
  print_line("ready");
  for (; !stop_requested; dds_sleepfor(DDS_MSECS(2))) {
    void *sample = NULL;
    dds_sample_info_t info;
    while (checked(dds_take(ends->reader, &sample, &info, 1, 1), "take") > 0) {
      const Request *request = sample;
      if (info.valid_data) {
        char client[LONGEST_ID], message[32];
        dds_builtintopic_endpoint_t *writer = dds_get_matched_publication_data(ends->reader, info.publication_handle);
        id_of(writer, "clientid=", client);
        if (writer) dds_builtintopic_free_endpoint(writer);
        // As rmw_cyclonedds, but not for 100 ms only: a reader of the same client, which is late on a busy machine.
        const dds_time_t begun = dds_time();
        while (client[0] && !has_reader(ends->writer, "clientid=", client) && dds_time() - begun < DDS_SECS(10))
          dds_sleepfor(DDS_MSECS(1));
        print_line("waited %u", (unsigned)((dds_time() - begun) / DDS_MSECS(1)));
        print_line("asked %u", ++calls);
        snprintf(message, sizeof message, "call %u", calls);
        const Response response = {request->client, request->number, request->data,
                                   request->data ? message : (char *)"it must stay on"};
        checked(dds_write(ends->writer, &response), "write");
      }
      checked(dds_return_loan(ends->reader, &sample, 1), "return");
      sample = NULL;
    }
  }
}

// Prints the response to a request.
static void receive_response(const Ends *ends, uint64_t client, int64_t number) {
  for (bool answered = false; !stop_requested && !answered; dds_sleepfor(DDS_MSECS(1))) {
    void *sample = NULL;
    dds_sample_info_t info;
    while (checked(dds_take(ends->reader, &sample, &info, 1, 1), "take") > 0) {
      const Response *response = sample;
      if (info.valid_data && response->client == client && response->number == number) {
        print_line("answered %s %s", response->success ? "true" : "false", response->message);
        answered = true;
      }
      checked(dds_return_loan(ends->reader, &sample, 1), "return");
      sample = NULL;
    }
  }
}

static void ask(const Ends *ends, uint64_t client, int64_t number, bool data) {
  const Request request = {client, number, data};
  checked(dds_write(ends->writer, &request), "write");
}

// Calls COUNT times with true and then with false: all clients ask, and then each receives its response.
static void call_all(const Ends *clients, const uint64_t *ids, int clients_count, long count) {
  print_line("ready");
  for (int client = 0; client < clients_count; ++client)
    while (!stop_requested && !is_ready(&clients[client])) dds_sleepfor(DDS_MSECS(5));
  for (long number = 1; !stop_requested && number <= count + 1; ++number) {
    for (int client = 0; client < clients_count; ++client) ask(&clients[client], ids[client], number, number <= count);
    for (int client = 0; client < clients_count; ++client) receive_response(&clients[client], ids[client], number);
  }
  print_line("done");
}

int main(int argc, char **argv) {
  if (argc < 3) fail(argv[0], "usage: NAME server | NAME client COUNT | NAME pair COUNT | NAME late");
  signal(SIGINT, request_stop);
  signal(SIGTERM, request_stop);
  const bool is_late = strcmp(argv[2], "late") == 0, is_pair = strcmp(argv[2], "pair") == 0;
  const bool serves = !is_late && !is_pair && chosen(argv[2], "client", "server");
  const uint64_t id = (uint64_t)dds_time(), ids[] = {id, id + 1};
  const dds_entity_t participant = checked(dds_create_participant(domain_id(), NULL, NULL), "participant");
  const Ends ends = ends_of(participant, argv[1], serves, id, is_late);
  const long count = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
  if (is_pair) {
    const Ends both[] = {ends, ends_of(participant, argv[1], false, ids[1], false)};
    call_all(both, ids, 2, count);
  } else if (serves) {
    serve(&ends);
  } else if (is_late) {
    receive_response(&ends, id, 1);
    print_line("done");
  } else {
    call_all(&ends, ids, 1, count);
  }
  checked(dds_delete(participant), "end");
}
