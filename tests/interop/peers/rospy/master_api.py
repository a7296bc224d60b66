#!/usr/bin/env python3
"""Behaviour cases of the ROS 1 Master API and Parameter Server API: `master_api.py MASTER_URI`.
Prints `ok N cases` and exits 0, or prints each failing case and exits 1."""

import socket
import sys
import threading
import xmlrpc.client
import xmlrpc.server

DEADLINE = 60.0
CALL_TIMEOUT = 60.0
# A stuck slave does not answer for longer than the others may take.
STUCK = 2 * DEADLINE
STRING = "std_msgs/String"
INT32 = "std_msgs/Int32"
CASES = []


class Mismatch(Exception):
    def __init__(self, subject, expected, got):
        super().__init__(f"{subject}: expected {expected}, got {got}")


class TimedTransport(xmlrpc.client.Transport):
    def make_connection(self, host):
        connection = super().make_connection(host)
        connection.timeout = CALL_TIMEOUT
        return connection


class SlaveHandler(xmlrpc.server.SimpleXMLRPCRequestHandler):
    """Keeps the connection of the last request."""

    def setup(self):
        super().setup()
        self.server.connection = self.connection


class SlaveServer(xmlrpc.server.SimpleXMLRPCServer):
    connection = None

    def handle_error(self, request, client_address):
        pass


class FakeNode:
    """A slave that answers every call with success and records it."""

    def __init__(self, name):
        self.name = name
        self.calls = []
        self.changed = threading.Condition()
        self.open = threading.Event()
        self.open.set()
        self.server = SlaveServer(("127.0.0.1", 0), SlaveHandler, logRequests=False)
        self.uri = "http://127.0.0.1:%d/" % self.server.server_address[1]
        for method in ("getPid", "publisherUpdate", "paramUpdate", "shutdown"):
            self.server.register_function(self.recorder(method), method)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def recorder(self, method):
        def record(*args):
            with self.changed:
                self.calls.append((method, list(args)))
                self.changed.notify_all()
            self.open.wait(STUCK)
            return [1, "", 0]
        return record

    def of(self, method):
        return [args for name, args in self.calls if name == method]

    def wait(self, method, wanted, expected):
        with self.changed:
            if not self.changed.wait_for(lambda: any(map(wanted, self.of(method))), DEADLINE):
                raise Mismatch(f"{method} at {self.name}", expected, self.calls)

    def wait_publishers(self, topic, uris):
        def wanted(args):
            return args[:2] == ["/master", topic] and sorted(args[2]) == sorted(uris)
        self.wait("publisherUpdate", wanted, ["/master", topic, uris])

    def wait_param(self, key, value):
        expected = ["/master", key, value]
        self.wait("paramUpdate", lambda args: identical(args, expected), expected)

    def close(self):
        self.open.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(DEADLINE)


class Context:
    """Context of a case: the master, a namespace, and nodes that are closed at the case's end."""

    def __init__(self, uri, ns):
        self.uri = uri
        self.ns = ns
        self.caller = ns + "/caller"
        self.nodes = []
        self.master = proxy(uri)

    def name(self, tail):
        return self.ns + "/" + tail

    def node(self, tail="node"):
        self.nodes.append(FakeNode(self.name(tail)))
        return self.nodes[-1]

    def raw(self, method, *args):
        return getattr(self.master, method)(*args)

    def call(self, method, *args):
        reply = self.raw(method, *args)
        if not (isinstance(reply, list) and [type(x) for x in reply[:2]] == [int, str] and len(reply) == 3):
            raise Mismatch(method, "[code, statusMessage, value]", repr(reply))
        return reply

    def value(self, method, *args):
        reply = self.call(method, *args)
        if reply[0] != 1:
            raise Mismatch(f"{method}{args}", "code 1", reply)
        return reply[2]

    def returns(self, expected, method, *args):
        same(f"{method}{args}", expected, self.value(method, *args))

    def refused(self, method, *args):
        reply = self.call(method, *args)
        if reply[0] != -1:
            raise Mismatch(f"{method}{args}", "code -1", reply)
        return reply

    def publish(self, node, topic, kind=STRING):
        return self.value("registerPublisher", node.name, topic, kind, node.uri)

    def subscribe(self, node, topic, kind=STRING):
        return self.value("registerSubscriber", node.name, topic, kind, node.uri)

    def serve(self, node, service, api):
        return self.value("registerService", node.name, service, api, node.uri)

    def set(self, key, value):
        return self.value("setParam", self.caller, key, value)

    def get(self, key):
        return self.value("getParam", self.caller, key)

    def topic_type(self, topic):
        return dict(map(tuple, self.value("getTopicTypes", self.caller))).get(topic)

    def state(self, index):
        return {name: nodes for name, nodes in self.value("getSystemState", self.caller)[index]}

    def published(self, subgraph):
        rows = self.value("getPublishedTopics", self.caller, subgraph)
        return sorted(row for row in rows if row[0].startswith(self.ns + "/"))

    def close(self):
        for node in self.nodes:
            node.close()
        self.master("close")()


def is_open(connection):
    """Whether a caller still waits for the answer to its request."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def proxy(uri):
    return xmlrpc.client.ServerProxy(uri, transport=TimedTransport(use_builtin_types=True), use_builtin_types=True)


def identical(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(identical(a[k], b[k]) for k in a)
    return a == b


def same(subject, expected, got):
    if not identical(expected, got):
        raise Mismatch(subject, repr(expected), repr(got))


def holds(subject, condition, got):
    if not condition:
        raise Mismatch(subject, "true", repr(got))


def case(function):
    CASES.append(function)
    return function


# The master itself


@case
def get_pid_is_a_positive_number(c):
    pid = c.value("getPid", c.caller)
    holds("pid is a positive int", type(pid) is int and pid > 0, pid)


@case
def get_uri_is_an_http_uri_with_the_port(c):
    uri = c.value("getUri", c.caller)
    port = c.uri.rstrip("/").rsplit(":", 1)[1]
    holds("http URI with the port", uri.startswith("http://") and uri.rstrip("/").endswith(":" + port), uri)


@case
def unknown_method_is_a_fault(c):
    try:
        got = c.raw("noSuchMethod", c.caller)
    except xmlrpc.client.Fault:
        return
    raise Mismatch("noSuchMethod", "a fault", got)


@case
def multicall_answers_each_call(c):
    key = c.name("k")
    got = c.master.system.multicall([
        {"methodName": "setParam", "params": [c.caller, key, 3]},
        {"methodName": "getParam", "params": [c.caller, key]},
    ])
    same("codes and values", [[1, 0], [1, 3]], [[r[0][0], r[0][2]] for r in got])


@case
def multicall_continues_after_a_bad_call(c):
    got = c.master.system.multicall([
        {"methodName": "noSuchMethod", "params": []},
        {"methodName": "getPid", "params": []},
        {"methodName": "getPid", "params": [c.caller]},
    ])
    same("number of answers", 3, len(got))
    holds("a fault struct", sorted(got[0]) == ["faultCode", "faultString"], got[0])
    same("codes", [-1, 1], [got[1][0][0], got[2][0][0]])


@case
def malformed_multicall_is_a_fault(c):
    for bad in (5, [5], [{}]):
        try:
            got = c.master.system.multicall(bad)
        except xmlrpc.client.Fault:
            continue
        raise Mismatch(f"multicall of {bad}", "a fault", got)
    assert_still_answers(c)


@case
def multicall_of_nothing_is_empty(c):
    same("answers", [], c.master.system.multicall([]))


@case
def multicall_unregisters_a_node_as_rospy_does(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.subscribe(node, topic)
    calls = xmlrpc.client.MultiCall(c.master)
    calls.unregisterSubscriber(node.name, topic, node.uri)
    calls.unregisterPublisher(node.name, topic, node.uri)
    same("values", [1, 1], [r[2] for r in calls()])
    c.refused("lookupNode", c.caller, node.name)


@case
def concurrent_callers_are_all_answered(c):
    answers = []

    def work(i):
        master = proxy(c.uri)
        try:
            for j in range(10):
                answers.append(master.setParam(c.caller, c.name(f"k{i}/v{j}"), j)[0])
        except Exception as error:
            answers.append(repr(error))
        master("close")()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CALL_TIMEOUT)
    same("codes", [1] * 80, answers)
    same("tree", {f"k{i}": {f"v{j}": j for j in range(10)} for i in range(8)}, c.get(c.ns))


# Publishers and subscribers


@case
def first_publisher_gets_no_subscribers(c):
    same("subscribers", [], c.publish(c.node(), c.name("t")))


@case
def first_subscriber_gets_no_publishers(c):
    same("publishers", [], c.subscribe(c.node(), c.name("t")))


@case
def publisher_gets_the_subscriber_apis(c):
    a, b, topic = c.node("a"), c.node("b"), c.name("t")
    c.subscribe(a, topic)
    c.subscribe(b, topic)
    same("subscribers", sorted([a.uri, b.uri]), sorted(c.publish(c.node("pub"), topic)))


@case
def subscriber_gets_the_publisher_apis(c):
    a, b, topic = c.node("a"), c.node("b"), c.name("t")
    c.publish(a, topic)
    c.publish(b, topic)
    same("publishers", sorted([a.uri, b.uri]), sorted(c.subscribe(c.node("sub"), topic)))


@case
def node_may_subscribe_to_its_own_topic(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    same("publishers", [node.uri], c.subscribe(node, topic))


@case
def publishing_twice_counts_once(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.publish(node, topic)
    same("nodes", [node.name], c.state(0)[topic])
    c.returns(1, "unregisterPublisher", node.name, topic, node.uri)
    c.returns(0, "unregisterPublisher", node.name, topic, node.uri)


@case
def subscribing_twice_counts_once(c):
    node, topic = c.node(), c.name("t")
    c.subscribe(node, topic)
    c.subscribe(node, topic)
    same("nodes", [node.name], c.state(1)[topic])
    c.returns(1, "unregisterSubscriber", node.name, topic, node.uri)
    c.returns(0, "unregisterSubscriber", node.name, topic, node.uri)


@case
def subscribers_are_notified_of_new_publishers(c):
    sub, a, b, topic = c.node("sub"), c.node("a"), c.node("b"), c.name("t")
    c.subscribe(sub, topic)
    c.publish(a, topic)
    sub.wait_publishers(topic, [a.uri])
    c.publish(b, topic)
    sub.wait_publishers(topic, [a.uri, b.uri])


@case
def subscribers_are_notified_of_removed_publishers(c):
    sub, a, b, topic = c.node("sub"), c.node("a"), c.node("b"), c.name("t")
    c.publish(a, topic)
    c.publish(b, topic)
    c.subscribe(sub, topic)
    c.value("unregisterPublisher", a.name, topic, a.uri)
    sub.wait_publishers(topic, [b.uri])
    c.value("unregisterPublisher", b.name, topic, b.uri)
    sub.wait_publishers(topic, [])


@case
def every_subscriber_is_notified(c):
    a, b, pub, topic = c.node("a"), c.node("b"), c.node("pub"), c.name("t")
    c.subscribe(a, topic)
    c.subscribe(b, topic)
    c.publish(pub, topic)
    a.wait_publishers(topic, [pub.uri])
    b.wait_publishers(topic, [pub.uri])


@case
def unsubscribed_node_is_not_notified(c):
    sub, pub = c.node("sub"), c.node("pub")
    left, kept = c.name("left"), c.name("kept")
    c.subscribe(sub, left)
    c.subscribe(sub, kept)
    c.returns(1, "unregisterSubscriber", sub.name, left, sub.uri)
    c.publish(pub, left)
    c.publish(pub, kept)
    sub.wait_publishers(kept, [pub.uri])
    same("notified topics", [kept], [args[1] for args in sub.of("publisherUpdate")])


@case
def publisher_is_not_notified_of_other_publishers(c):
    a, b, topic, own = c.node("a"), c.node("b"), c.name("t"), c.name("own")
    c.publish(a, topic)
    c.subscribe(a, own)
    c.publish(b, topic)
    c.publish(b, own)
    a.wait_publishers(own, [b.uri])
    same("notified topics", [own], [args[1] for args in a.of("publisherUpdate")])


@case
def dead_subscriber_does_not_delay_others(c):
    dead, live, pub, topic = c.node("dead"), c.node("live"), c.node("pub"), c.name("t")
    c.subscribe(dead, topic)
    c.subscribe(live, topic)
    dead.close()
    c.nodes.remove(dead)
    c.publish(pub, topic)
    live.wait_publishers(topic, [pub.uri])


def is_notified_meanwhile(c, tail):
    """Whether a subscriber is notified while the call of another one, which hangs, still waits for its answer."""
    stuck, live, pub = c.node("stuck_" + tail), c.node("live_" + tail), c.node("pub_" + tail)
    topic = c.name("t_" + tail)
    stuck.open.clear()
    c.subscribe(stuck, topic)
    c.publish(pub, topic)
    stuck.wait_publishers(topic, [pub.uri])
    call = stuck.server.connection
    c.subscribe(live, topic)
    c.returns(1, "unregisterPublisher", pub.name, topic, pub.uri)
    live.wait_publishers(topic, [])
    return is_open(call)


@case
def hanging_subscriber_does_not_delay_others(c):
    # On a busy machine, the call may have timed out before the other one is notified.
    holds("notified during the call", any(is_notified_meanwhile(c, tail) for tail in "abc"), False)


@case
def topic_names_are_relative_to_the_caller(c):
    node = c.node()
    c.publish(node, "chatter")
    same("nodes", [node.name], c.state(0).get(c.name("chatter")))


@case
def private_topic_lies_below_the_node(c):
    node = c.node()
    c.publish(node, "~chatter")
    same("nodes", [node.name], c.state(0).get(node.name + "/chatter"))


@case
def unregister_publisher_of_unknown_node_is_0(c):
    c.returns(0, "unregisterPublisher", c.name("nobody"), c.name("t"), "http://127.0.0.1:1/")


@case
def unregister_subscriber_of_unknown_node_is_0(c):
    c.returns(0, "unregisterSubscriber", c.name("nobody"), c.name("t"), "http://127.0.0.1:1/")


@case
def unregister_of_unknown_topic_is_0(c):
    node = c.node()
    c.publish(node, c.name("t"))
    c.returns(0, "unregisterPublisher", node.name, c.name("other"), node.uri)
    c.returns(0, "unregisterSubscriber", node.name, c.name("other"), node.uri)


@case
def unregister_at_another_uri_is_0_and_changes_nothing(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.returns(0, "unregisterPublisher", node.name, topic, "http://127.0.0.1:1/")
    same("nodes", [node.name], c.state(0).get(topic))


# Types and lists of topics


@case
def subscriber_of_any_type_leaves_a_known_type(c):
    topic = c.name("t")
    c.publish(c.node("pub"), topic, STRING)
    c.subscribe(c.node("sub"), topic, "*")
    same("type", STRING, c.topic_type(topic))


@case
def known_type_of_a_publisher_replaces_any(c):
    topic = c.name("t")
    c.subscribe(c.node("sub"), topic, "*")
    c.publish(c.node("pub"), topic, STRING)
    same("type", STRING, c.topic_type(topic))


@case
def publisher_of_any_type_leaves_a_known_type(c):
    topic = c.name("t")
    c.publish(c.node("a"), topic, STRING)
    c.publish(c.node("b"), topic, "*")
    same("type", STRING, c.topic_type(topic))


@case
def known_type_of_a_subscriber_is_listed(c):
    topic = c.name("t")
    c.subscribe(c.node(), topic, INT32)
    same("type", INT32, c.topic_type(topic))


@case
def second_subscribers_type_does_not_replace_the_first(c):
    topic = c.name("t")
    c.subscribe(c.node("a"), topic, INT32)
    c.subscribe(c.node("b"), topic, STRING)
    same("type", INT32, c.topic_type(topic))


@case
def publishers_type_replaces_a_subscribers(c):
    topic = c.name("t")
    c.subscribe(c.node("sub"), topic, INT32)
    c.publish(c.node("pub"), topic, STRING)
    same("type", STRING, c.topic_type(topic))


@case
def type_outlives_the_publisher(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.value("unregisterPublisher", node.name, topic, node.uri)
    same("type", STRING, c.topic_type(topic))


@case
def published_topics_come_with_their_types(c):
    node = c.node()
    c.publish(node, c.name("a"), STRING)
    c.publish(node, c.name("b/c"), INT32)
    same("topics", [[c.name("a"), STRING], [c.name("b/c"), INT32]], c.published(""))


@case
def published_topics_of_a_subgraph(c):
    node = c.node()
    for tail in ("sub/x", "sub/deep/y", "subway/z", "other"):
        c.publish(node, c.name(tail))
    expected = [[c.name("sub/deep/y"), STRING], [c.name("sub/x"), STRING]]
    same("topics", expected, c.published(c.name("sub")))
    same("topics, slash at the end", expected, c.published(c.name("sub/")))


@case
def published_topics_of_an_empty_subgraph(c):
    c.publish(c.node(), c.name("t"))
    c.returns([], "getPublishedTopics", c.caller, c.name("nothing"))


@case
def published_topics_of_a_relative_subgraph(c):
    c.publish(c.node(), c.name("sub/x"))
    same("topics", [[c.name("sub/x"), STRING]], c.published("sub"))


@case
def subscribed_topic_is_not_published(c):
    c.subscribe(c.node(), c.name("t"))
    same("topics", [], c.published(""))


@case
def unregistered_topic_is_not_published(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.returns(1, "unregisterPublisher", node.name, topic, node.uri)
    same("topics", [], c.published(""))


@case
def system_state_lists_publishers_subscribers_services(c):
    pub, sub, topic = c.node("pub"), c.node("sub"), c.name("t")
    c.publish(pub, topic)
    c.subscribe(sub, topic)
    c.serve(pub, c.name("s"), "rosrpc://127.0.0.1:1")
    same("publishers", [pub.name], c.state(0).get(topic))
    same("subscribers", [sub.name], c.state(1).get(topic))
    same("providers", [pub.name], c.state(2).get(c.name("s")))


@case
def system_state_lists_every_node_of_a_topic(c):
    a, b, topic = c.node("a"), c.node("b"), c.name("t")
    c.publish(a, topic)
    c.publish(b, topic)
    same("publishers", [a.name, b.name], sorted(c.state(0)[topic]))


@case
def system_state_omits_unregistered_nodes(c):
    node, topic = c.node(), c.name("t")
    c.publish(node, topic)
    c.subscribe(node, topic)
    c.value("unregisterPublisher", node.name, topic, node.uri)
    c.value("unregisterSubscriber", node.name, topic, node.uri)
    same("rows", [None, None], [c.state(0).get(topic), c.state(1).get(topic)])


# Nodes


@case
def lookup_node_returns_its_uri(c):
    node = c.node()
    c.subscribe(node, c.name("t"))
    c.returns(node.uri, "lookupNode", c.caller, node.name)


@case
def lookup_node_accepts_a_relative_name(c):
    node = c.node()
    c.subscribe(node, c.name("t"))
    c.returns(node.uri, "lookupNode", c.caller, "node")


@case
def lookup_of_an_unknown_node_is_refused(c):
    same("value", "", c.refused("lookupNode", c.caller, c.name("nobody"))[2])


@case
def node_is_removed_with_its_last_registration(c):
    node = c.node()
    c.publish(node, c.name("a"))
    c.publish(node, c.name("b"))
    c.value("unregisterPublisher", node.name, c.name("a"), node.uri)
    c.returns(node.uri, "lookupNode", c.caller, node.name)
    c.value("unregisterPublisher", node.name, c.name("b"), node.uri)
    c.refused("lookupNode", c.caller, node.name)


@case
def node_is_known_by_only_a_service(c):
    node = c.node()
    c.serve(node, c.name("s"), "rosrpc://127.0.0.1:1")
    c.returns(node.uri, "lookupNode", c.caller, node.name)


@case
def node_of_a_taken_name_is_shut_down(c):
    old, new = c.node("twin"), c.node("twin")
    c.publish(old, c.name("t"))
    c.publish(new, c.name("t"))
    expected = ["/master", f"[{new.name}] Reason: new node registered with same name"]
    old.wait("shutdown", lambda args: args == expected, expected)
    same("calls of shutdown at the new node", [], new.of("shutdown"))


@case
def node_of_a_taken_name_loses_its_registrations(c):
    old, new = c.node("twin"), c.node("twin")
    c.publish(old, c.name("published"))
    c.subscribe(old, c.name("subscribed"))
    c.serve(old, c.name("s"), "rosrpc://127.0.0.1:1")
    c.publish(new, c.name("t"))
    rows = [c.state(0).get(c.name("published")), c.state(1).get(c.name("subscribed")), c.state(2).get(c.name("s"))]
    same("rows of the old node", [None, None, None], rows)
    same("publishers", [new.name], c.state(0).get(c.name("t")))
    c.returns(new.uri, "lookupNode", c.caller, new.name)


@case
def unregister_by_the_replaced_node_is_0(c):
    old, new, topic = c.node("twin"), c.node("twin"), c.name("t")
    c.publish(old, topic)
    c.publish(new, topic)
    c.returns(0, "unregisterPublisher", old.name, topic, old.uri)
    same("publishers", [new.name], c.state(0).get(topic))


@case
def replaced_node_may_take_the_name_back(c):
    first, second, topic = c.node("twin"), c.node("twin"), c.name("t")
    c.publish(first, topic)
    c.publish(second, topic)
    c.publish(first, topic)
    second.wait("shutdown", lambda args: True, "a call")
    c.returns(first.uri, "lookupNode", c.caller, first.name)


@case
def name_of_an_unregistered_node_is_free_without_shutdown(c):
    old, new, topic = c.node("twin"), c.node("twin"), c.name("t")
    c.publish(old, topic)
    c.value("unregisterPublisher", old.name, topic, old.uri)
    c.publish(new, topic)
    c.returns(new.uri, "lookupNode", c.caller, new.name)
    same("calls of shutdown", [], old.of("shutdown"))


@case
def name_may_be_taken_with_any_registration(c):
    nodes = [c.node("twin") for _ in range(3)]
    c.publish(nodes[0], c.name("t"))
    c.subscribe(nodes[1], c.name("t"))
    nodes[0].wait("shutdown", lambda args: True, "a call")
    c.serve(nodes[2], c.name("s"), "rosrpc://127.0.0.1:1")
    nodes[1].wait("shutdown", lambda args: True, "a call")
    c.returns(nodes[2].uri, "lookupNode", c.caller, nodes[2].name)


@case
def node_registering_again_at_its_uri_stays(c):
    node = c.node()
    c.publish(node, c.name("a"))
    c.subscribe(node, c.name("b"))
    c.publish(node, c.name("a"))
    same("subscribers", [node.name], c.state(1).get(c.name("b")))
    c.publish(c.node("pub"), c.name("b"))
    node.wait("publisherUpdate", lambda args: args[1] == c.name("b"), c.name("b"))
    same("calls of shutdown", [], node.of("shutdown"))


# Services


@case
def lookup_service_returns_its_api(c):
    c.serve(c.node(), c.name("s"), "rosrpc://127.0.0.1:1")
    c.returns("rosrpc://127.0.0.1:1", "lookupService", c.caller, c.name("s"))


@case
def lookup_service_accepts_a_relative_name(c):
    c.serve(c.node(), c.name("s"), "rosrpc://127.0.0.1:1")
    c.returns("rosrpc://127.0.0.1:1", "lookupService", c.caller, "s")


@case
def lookup_of_an_unknown_service_is_refused(c):
    same("value", "", c.refused("lookupService", c.caller, c.name("s"))[2])


@case
def unregister_service_is_1_then_0(c):
    node, service, api = c.node(), c.name("s"), "rosrpc://127.0.0.1:1"
    c.serve(node, service, api)
    c.returns(1, "unregisterService", node.name, service, api)
    c.refused("lookupService", c.caller, service)
    c.returns(0, "unregisterService", node.name, service, api)


@case
def unregister_of_unknown_service_is_0(c):
    c.returns(0, "unregisterService", c.name("nobody"), c.name("s"), "rosrpc://127.0.0.1:1")


@case
def unregister_service_with_another_api_is_0(c):
    node, service = c.node(), c.name("s")
    c.serve(node, service, "rosrpc://127.0.0.1:1")
    c.returns(0, "unregisterService", node.name, service, "rosrpc://127.0.0.1:2")
    c.returns("rosrpc://127.0.0.1:1", "lookupService", c.caller, service)


@case
def last_provider_replaces_a_service(c):
    a, b, service = c.node("a"), c.node("b"), c.name("s")
    c.serve(a, service, "rosrpc://127.0.0.1:1")
    c.serve(b, service, "rosrpc://127.0.0.1:2")
    c.returns("rosrpc://127.0.0.1:2", "lookupService", c.caller, service)
    same("providers", [b.name], c.state(2).get(service))


@case
def former_provider_cannot_unregister_a_service(c):
    a, b, service = c.node("a"), c.node("b"), c.name("s")
    c.serve(a, service, "rosrpc://127.0.0.1:1")
    c.serve(b, service, "rosrpc://127.0.0.1:2")
    c.returns(0, "unregisterService", a.name, service, "rosrpc://127.0.0.1:1")
    c.returns("rosrpc://127.0.0.1:2", "lookupService", c.caller, service)
    c.returns(1, "unregisterService", b.name, service, "rosrpc://127.0.0.1:2")


# Parameters


def comes_back(c, *values):
    for value in values:
        same("setParam", 0, c.set(c.name("k"), value))
        same("getParam", value, c.get(c.name("k")))


@case
def param_int(c):
    comes_back(c, 0, 1, -1, 2**31 - 1, -2**31)


@case
def param_bool(c):
    comes_back(c, True, False)


@case
def param_double(c):
    comes_back(c, 0.0, 0.1, -2.5, 1.0 / 3.0, 1e300, 5e-300)


@case
def param_string(c):
    comes_back(c, "", " blanks ", "<a & b>", "two\nlines\tand tab", "Grüße \u65e5\u672c \U0001f916", "]]>")


@case
def param_list(c):
    comes_back(c, [], [1, 2.5, "x", True], [[1], [[]], {"a": [2]}])


@case
def param_base64(c):
    comes_back(c, b"", bytes(range(256)))


@case
def param_date(c):
    date = xmlrpc.client.DateTime("20240229T23:59:58")
    c.set(c.name("k"), date)
    same("getParam", str(date), c.get(c.name("k")).strftime("%Y%m%dT%H:%M:%S"))


@case
def param_struct(c):
    comes_back(c, {}, {"a": 1}, {"a": {"b": {"c": [1, {"d": ""}]}}, "e": False})


@case
def fields_of_a_set_struct_are_readable(c):
    c.set(c.name("tree"), {"a": {"b": 1}, "c": "x"})
    same("leaf", 1, c.get(c.name("tree/a/b")))
    same("branch", {"b": 1}, c.get(c.name("tree/a")))


@case
def set_leaves_are_readable_as_a_struct(c):
    c.set(c.name("tree/a/b"), 1)
    c.set(c.name("tree/c"), "x")
    same("tree", {"a": {"b": 1}, "c": "x"}, c.get(c.name("tree")))


@case
def set_struct_replaces_the_old_tree(c):
    c.set(c.name("tree"), {"a": 1, "b": 2})
    c.set(c.name("tree"), {"b": 3})
    same("tree", {"b": 3}, c.get(c.name("tree")))


@case
def set_below_a_plain_value_replaces_it(c):
    c.set(c.name("k"), 1)
    c.set(c.name("k/below"), 2)
    same("tree", {"below": 2}, c.get(c.name("k")))


@case
def get_below_a_plain_value_is_refused(c):
    c.set(c.name("k"), 1)
    c.refused("getParam", c.caller, c.name("k/below"))
    c.returns(False, "hasParam", c.caller, c.name("k/below"))


@case
def root_returns_the_complete_tree(c):
    c.set(c.name("k"), 7)
    tree = c.get("/")
    for part in c.name("k").strip("/").split("/"):
        tree = tree[part]
    same("leaf", 7, tree)


@case
def set_at_the_root_replaces_the_complete_tree(c):
    before = c.get("/")
    try:
        c.set("/", {"only": {"this": 1}})
        same("tree", {"only": {"this": 1}}, c.get("/"))
    finally:
        c.set("/", before)
    same("restored tree", before, c.get("/"))


@case
def set_at_the_root_of_a_plain_value_is_refused(c):
    before = c.get("/")
    for bad in (5, "x", [1]):
        c.refused("setParam", c.caller, "/", bad)
    same("tree", before, c.get("/"))


@case
def delete_at_the_root_is_refused(c):
    c.set(c.name("k"), 1)
    c.refused("deleteParam", c.caller, "/")
    same("leaf", 1, c.get(c.name("k")))


@case
def repeated_slashes_count_as_one(c):
    c.set("/" + c.name("a") + "///b", 1)
    same("leaf", 1, c.get(c.name("a/b")))


@case
def param_names_accept_any_characters(c):
    for tail in ("a b", "1st", "x-y", "\u65e5\u672c"):
        c.set(c.name(tail), tail)
        same("getParam", tail, c.get(c.name(tail)))


@case
def trailing_slash_of_a_key_is_ignored(c):
    c.set(c.name("a/"), 1)
    same("without", 1, c.get(c.name("a")))
    same("with", 1, c.get(c.name("a/")))


@case
def missing_param_is_refused(c):
    key = c.name("nothing")
    same("reply", [-1, f"Parameter [{key}] is not set", 0], c.refused("getParam", c.caller, key))


@case
def has_param_is_a_boolean(c):
    c.set(c.name("tree/k"), 0)
    c.returns(True, "hasParam", c.caller, c.name("tree/k"))
    c.returns(True, "hasParam", c.caller, c.name("tree"))
    c.returns(False, "hasParam", c.caller, c.name("nothing"))


@case
def deleted_param_is_removed(c):
    c.set(c.name("k"), 1)
    c.returns(0, "deleteParam", c.caller, c.name("k"))
    c.returns(False, "hasParam", c.caller, c.name("k"))


@case
def deleted_tree_is_removed_with_its_children(c):
    c.set(c.name("tree"), {"a": {"b": 1}})
    c.set(c.name("kept"), 2)
    c.returns(0, "deleteParam", c.caller, c.name("tree"))
    c.returns(False, "hasParam", c.caller, c.name("tree/a/b"))
    same("rest", {"kept": 2}, c.get(c.ns))


@case
def delete_of_a_missing_param_is_refused(c):
    c.refused("deleteParam", c.caller, c.name("nothing"))


@case
def param_names_are_relative_to_the_caller(c):
    c.set("k", 1)
    same("at the namespace", 1, c.get(c.name("k")))
    same("relative get", 1, c.get("k"))
    c.returns(True, "hasParam", c.caller, "k")
    c.returns(0, "deleteParam", c.caller, "k")


@case
def private_param_is_below_the_node(c):
    c.set("~k", 1)
    same("below the node", 1, c.get(c.caller + "/k"))
    same("private get", 1, c.get("~k"))


@case
def search_prefers_the_nearest_param(c):
    c.set(c.name("k"), 1)
    c.set(c.name("a/b/k"), 2)
    c.returns(c.name("a/b/k"), "searchParam", c.name("a/b/node"), "k")
    c.returns(c.name("k"), "searchParam", c.name("a/node"), "k")


@case
def search_begins_below_the_caller(c):
    c.set(c.name("k"), 1)
    c.set(c.name("node/k"), 2)
    c.returns(c.name("node/k"), "searchParam", c.name("node"), "k")


@case
def search_goes_up_to_the_root(c):
    key = c.ns.strip("/") + "_top"
    c.set("/" + key, 1)
    c.returns("/" + key, "searchParam", c.name("a/b/c/node"), key)
    c.value("deleteParam", c.caller, "/" + key)


@case
def search_of_a_path_matches_its_first_part(c):
    c.set(c.name("a/tree/other"), 1)
    c.set(c.name("tree/leaf"), 2)
    c.returns(c.name("a/tree/leaf"), "searchParam", c.name("a/node"), "tree/leaf")


@case
def search_of_an_absolute_name_is_a_look_up(c):
    c.set(c.name("k"), 1)
    c.returns(c.name("k"), "searchParam", c.caller, c.name("k"))
    c.refused("searchParam", c.caller, c.name("nothing"))


@case
def search_of_a_private_name_fails(c):
    c.set("~k", 1)
    got = c.call("searchParam", c.caller, "~k")
    holds("code is not 1", got[0] != 1, got)


@case
def search_for_an_empty_name_is_refused(c):
    c.refused("searchParam", c.caller, "no_such_parameter_anywhere")


@case
def param_names_are_the_leaves(c):
    c.set(c.name("tree"), {"a": {"b": 1}, "c": [1, 2]})
    c.set(c.name("k"), "x")
    names = [n for n in c.value("getParamNames", c.caller) if n.startswith(c.ns + "/")]
    same("names", [c.name("k"), c.name("tree/a/b"), c.name("tree/c")], sorted(names))


# Subscribed parameters


def subscribe_param(c, node, key):
    return c.value("subscribeParam", node.name, node.uri, key)


@case
def subscribe_param_returns_the_value(c):
    c.set(c.name("k"), [1, "x"])
    same("value", [1, "x"], subscribe_param(c, c.node(), c.name("k")))


@case
def subscribe_of_an_unset_param_returns_an_empty_struct(c):
    same("value", {}, subscribe_param(c, c.node(), c.name("k")))


@case
def change_is_sent_with_a_trailing_slash(c):
    node = c.node()
    subscribe_param(c, node, c.name("k"))
    c.set(c.name("k"), 5)
    node.wait_param(c.name("k/"), 5)


@case
def subscribe_param_accepts_a_relative_name(c):
    node = c.node()
    subscribe_param(c, node, "k")
    c.set(c.name("k"), 5)
    node.wait_param(c.name("k/"), 5)


@case
def change_of_a_child_is_sent_with_its_own_key(c):
    node = c.node()
    subscribe_param(c, node, c.name("tree"))
    c.set(c.name("tree/a/b"), 5)
    node.wait_param(c.name("tree/a/b/"), 5)


@case
def change_of_a_parent_is_sent_with_the_subscribed_part(c):
    node = c.node()
    subscribe_param(c, node, c.name("tree/a"))
    c.set(c.name("tree"), {"a": 5, "b": 6})
    node.wait_param(c.name("tree/a/"), 5)


@case
def deletion_is_sent_as_an_empty_struct(c):
    node = c.node()
    c.set(c.name("k"), 5)
    subscribe_param(c, node, c.name("k"))
    c.value("deleteParam", c.caller, c.name("k"))
    node.wait_param(c.name("k/"), {})


@case
def setter_is_not_notified_of_its_own_change(c):
    node = c.node()
    subscribe_param(c, node, c.name("k"))
    c.value("setParam", node.name, c.name("k"), 1)
    c.set(c.name("k"), 2)
    node.wait_param(c.name("k/"), 2)
    same("notified values", [2], [args[2] for args in node.of("paramUpdate")])


@case
def change_of_a_param_with_the_same_prefix_is_not_sent(c):
    node = c.node()
    subscribe_param(c, node, c.name("k"))
    c.set(c.name("key"), 1)
    c.set(c.name("k"), 2)
    node.wait_param(c.name("k/"), 2)
    same("notified keys", [c.name("k/")], [args[1] for args in node.of("paramUpdate")])


@case
def every_subscriber_of_a_param_is_notified(c):
    a, b = c.node("a"), c.node("b")
    subscribe_param(c, a, c.name("k"))
    subscribe_param(c, b, c.name("k"))
    c.set(c.name("k"), "x")
    a.wait_param(c.name("k/"), "x")
    b.wait_param(c.name("k/"), "x")


@case
def unsubscribed_param_is_not_sent(c):
    node = c.node()
    subscribe_param(c, node, c.name("left"))
    subscribe_param(c, node, c.name("kept"))
    c.returns(1, "unsubscribeParam", node.name, node.uri, c.name("left"))
    c.set(c.name("left"), 1)
    c.set(c.name("kept"), 2)
    node.wait_param(c.name("kept/"), 2)
    same("notified keys", [c.name("kept/")], [args[1] for args in node.of("paramUpdate")])


@case
def unsubscribe_of_a_param_not_subscribed_is_1(c):
    node = c.node()
    c.returns(1, "unsubscribeParam", node.name, node.uri, c.name("k"))


@case
def unsubscribe_by_one_subscriber_keeps_the_other(c):
    a, b = c.node("a"), c.node("b")
    subscribe_param(c, a, c.name("k"))
    subscribe_param(c, b, c.name("k"))
    c.returns(1, "unsubscribeParam", a.name, a.uri, c.name("k"))
    c.set(c.name("k"), 1)
    b.wait_param(c.name("k/"), 1)


@case
def subscriber_of_the_root_is_notified_of_all_changes(c):
    node = c.node()
    subscribe_param(c, node, "/")
    c.set(c.name("k"), 1)
    node.wait_param(c.name("k/"), 1)
    c.value("unsubscribeParam", node.name, node.uri, "/")


@case
def deletion_of_a_parent_is_sent_as_an_empty_struct(c):
    node = c.node()
    c.set(c.name("tree"), {"a": {"b": 1}})
    subscribe_param(c, node, c.name("tree/a/b"))
    c.value("deleteParam", c.caller, c.name("tree"))
    node.wait_param(c.name("tree/a/b/"), {})


@case
def replacement_of_a_parent_without_the_part_is_sent_as_an_empty_struct(c):
    node = c.node()
    c.set(c.name("tree"), {"a": 1})
    subscribe_param(c, node, c.name("tree/a"))
    c.set(c.name("tree"), {"z": 1})
    node.wait_param(c.name("tree/a/"), {})


@case
def subscriber_of_a_param_is_a_known_node_while_subscribed(c):
    node = c.node()
    subscribe_param(c, node, c.name("k"))
    c.returns(node.uri, "lookupNode", c.caller, node.name)
    c.returns(1, "unsubscribeParam", node.name, node.uri, c.name("k"))
    c.refused("lookupNode", c.caller, node.name)


@case
def param_subscription_outlives_the_last_registration(c):
    node, topic = c.node(), c.name("t")
    subscribe_param(c, node, c.name("k"))
    c.publish(node, topic)
    c.value("unregisterPublisher", node.name, topic, node.uri)
    c.set(c.name("k"), 1)
    node.wait_param(c.name("k/"), 1)


@case
def replaced_node_is_not_notified_of_params(c):
    old, new, other = c.node("twin"), c.node("twin"), c.node("other")
    c.publish(old, c.name("t"))
    subscribe_param(c, old, c.name("k"))
    subscribe_param(c, other, c.name("k"))
    c.publish(new, c.name("t"))
    old.wait("shutdown", lambda args: True, "a call")
    c.set(c.name("k"), 1)
    other.wait_param(c.name("k/"), 1)
    same("values sent to the old node", [], old.of("paramUpdate"))


# Wrong arguments


ARITY = {
    "getPid": 1, "getUri": 1, "registerPublisher": 4, "registerSubscriber": 4, "registerService": 4,
    "unregisterPublisher": 3, "unregisterSubscriber": 3, "unregisterService": 3, "lookupNode": 2,
    "lookupService": 2, "getPublishedTopics": 2, "getTopicTypes": 1, "getSystemState": 1,
    "setParam": 3, "getParam": 2, "hasParam": 2, "deleteParam": 2, "searchParam": 2,
    "getParamNames": 1, "subscribeParam": 3, "unsubscribeParam": 3,
}


def assert_still_answers(c):
    c.value("getPid", c.caller)


def all_refused(c, calls):
    for method, *args in calls:
        c.refused(method, *args)
    assert_still_answers(c)


@case
def too_few_arguments_are_refused(c):
    all_refused(c, [[method, *[c.name("x")] * (count - 1)] for method, count in ARITY.items()])


@case
def too_many_arguments_are_refused(c):
    all_refused(c, [[method, *[c.name("x")] * (count + 1)] for method, count in ARITY.items()])


@case
def no_arguments_are_refused(c):
    all_refused(c, [[method] for method in ARITY])


@case
def wrong_arity_is_named(c):
    same("reply", [-1, "Error: bad call arity", []], c.raw("registerPublisher", c.caller))


@case
def wrong_kinds_of_topic_are_refused(c):
    uri = "http://127.0.0.1:1/"
    for bad in (5, 1.5, True, [], ["x"], {"a": 1}):
        all_refused(c, [
            ["registerPublisher", c.caller, bad, STRING, uri],
            ["registerSubscriber", c.caller, bad, STRING, uri],
            ["unregisterPublisher", c.caller, bad, uri],
            ["unregisterSubscriber", c.caller, bad, uri],
        ])


@case
def wrong_kinds_of_type_are_refused(c):
    for bad in (5, True, ["x"], {"a": 1}):
        all_refused(c, [
            ["registerPublisher", c.caller, c.name("t"), bad, "http://127.0.0.1:1/"],
            ["registerSubscriber", c.caller, c.name("t"), bad, "http://127.0.0.1:1/"],
        ])


@case
def wrong_kinds_of_uri_are_refused(c):
    for bad in (5, True, ["x"], {"a": 1}, "", "no uri"):
        all_refused(c, [
            ["registerPublisher", c.caller, c.name("t"), STRING, bad],
            ["registerSubscriber", c.caller, c.name("t"), STRING, bad],
            ["registerService", c.caller, c.name("s"), bad, "http://127.0.0.1:1/"],
            ["registerService", c.caller, c.name("s"), "rosrpc://127.0.0.1:1", bad],
        ])


@case
def wrong_kinds_of_param_key_are_refused(c):
    for bad in (5, True, ["x"], {"a": 1}):
        all_refused(c, [[method, c.caller, bad] for method in ("getParam", "hasParam", "deleteParam", "searchParam")])
        all_refused(c, [["setParam", c.caller, bad, 1], ["subscribeParam", c.caller, "http://127.0.0.1:1/", bad]])


@case
def wrong_kinds_of_caller_are_refused(c):
    for bad in (5, True, ["x"], {"a": 1}):
        all_refused(c, [
            ["getParam", bad, c.name("k")],
            ["registerPublisher", bad, c.name("t"), STRING, "http://127.0.0.1:1/"],
        ])


@case
def wrong_kinds_of_lookup_names_are_refused(c):
    for bad in (5, True, ["x"], {"a": 1}):
        all_refused(c, [["lookupNode", c.caller, bad], ["lookupService", c.caller, bad]])


@case
def empty_names_are_refused(c):
    uri = "http://127.0.0.1:1/"
    all_refused(c, [
        ["registerPublisher", c.caller, "", STRING, uri],
        ["registerSubscriber", c.caller, "", STRING, uri],
        ["registerService", c.caller, "", "rosrpc://127.0.0.1:1", uri],
        ["unregisterPublisher", c.caller, "", uri],
        ["lookupNode", c.caller, ""],
        ["lookupService", c.caller, ""],
        ["setParam", c.caller, "", 1],
        ["getParam", c.caller, ""],
        ["hasParam", c.caller, ""],
        ["deleteParam", c.caller, ""],
        ["searchParam", c.caller, ""],
        ["subscribeParam", c.caller, uri, ""],
    ])


@case
def empty_type_is_refused(c):
    all_refused(c, [["registerPublisher", c.caller, c.name("t"), "", "http://127.0.0.1:1/"]])


@case
def type_without_a_package_is_refused(c):
    all_refused(c, [
        ["registerPublisher", c.caller, c.name("t"), "String", "http://127.0.0.1:1/"],
        ["registerSubscriber", c.caller, c.name("t"), "String", "http://127.0.0.1:1/"],
    ])


@case
def invalid_characters_are_refused(c):
    uri = "http://127.0.0.1:1/"
    for bad in (c.name("a b"), c.name("a:b")):
        all_refused(c, [
            ["registerPublisher", c.caller, bad, STRING, uri],
            ["registerSubscriber", c.caller, bad, STRING, uri],
            ["registerService", c.caller, bad, "rosrpc://127.0.0.1:1", uri],
            ["lookupService", c.caller, bad],
        ])


@case
def global_namespace_is_not_a_topic(c):
    all_refused(c, [
        ["registerPublisher", c.caller, "/", STRING, "http://127.0.0.1:1/"],
        ["registerSubscriber", c.caller, "/", STRING, "http://127.0.0.1:1/"],
    ])


@case
def type_of_three_parts_is_refused(c):
    all_refused(c, [["registerPublisher", c.caller, c.name("t"), "a/b/c", "http://127.0.0.1:1/"]])


@case
def wrong_kinds_of_subgraph_are_refused(c):
    all_refused(c, [["getPublishedTopics", c.caller, bad] for bad in (5, True, ["x"], {"a": 1})])


@case
def wrong_kinds_of_query_caller_are_refused(c):
    methods = ("getPid", "getUri", "getSystemState", "getTopicTypes", "getParamNames")
    all_refused(c, [[method, bad] for method in methods for bad in (5, True, ["x"], {"a": 1})])


@case
def refused_registration_changes_nothing(c):
    node = c.node()
    c.refused("registerPublisher", node.name, c.name("a b"), STRING, node.uri)
    c.refused("lookupNode", c.caller, node.name)
    same("topics", [], c.published(""))


# The runner


def failure_of(function, uri, ns):
    c = Context(uri, ns)
    try:
        function(c)
    except Mismatch as mismatch:
        return str(mismatch)
    except Exception as error:
        return f"expected no error, got {type(error).__name__}: {error}"
    finally:
        c.close()
    return None


def run(uri, without):
    cases = [function for function in CASES if function.__name__ not in without]
    with SlaveServer(("127.0.0.1", 0)) as unique:
        prefix = "/api%d" % unique.server_address[1]
    failed = 0
    for number, function in enumerate(cases):
        failure = failure_of(function, uri, f"{prefix}_{number}")
        if failure:
            failed += 1
            print(f"FAIL {function.__name__.replace('_', ' ')}\n  {failure}", flush=True)
    print(f"{failed} of {len(cases)} cases failed" if failed else f"ok {len(cases)} cases")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: master_api.py MASTER_URI [CASE_TO_LEAVE_OUT ..]")
    sys.exit(run(sys.argv[1], sys.argv[2:]))
