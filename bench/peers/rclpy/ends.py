"""Ends of the bench's service calls on rclpy, written as a user would write them. bench/README.md describes the protocol
between an end and the bench.

    ends.py serve|call-persistent --count N --warm-up N [--sent FILE] [--received FILE] [MORE, ignored]
"""

import argparse
import struct
import sys
import threading
import time

import rclpy
from std_srvs.srv import SetBool

# Time limit for the other end to appear, in seconds.
PEER_TIMEOUT = 20


def send_ready():
    print("ready", flush=True)


def shut_down_at_end_of_input():
    sys.stdin.read()
    rclpy.try_shutdown()


def serve(node, options):
    def switch(request, response):
        response.success = request.data
        return response

    node.create_service(SetBool, "switch", switch)
    send_ready()
    threading.Thread(target=shut_down_at_end_of_input, daemon=True).start()
    try:
        rclpy.spin(node)
    except rclpy.executors.ExternalShutdownException:
        pass


def call(node, options):
    client = node.create_client(SetBool, "switch")
    if not client.wait_for_service(PEER_TIMEOUT):
        sys.exit("no server of switch")
    send_ready()
    if not sys.stdin.readline():
        sys.exit("the bench has ended")
    sent, received = [], []
    for number in range(options.warm_up + options.count):
        before = time.monotonic_ns()
        future = client.call_async(SetBool.Request(data=number % 2 == 0))
        rclpy.spin_until_future_complete(node, future)
        after = time.monotonic_ns()
        if number >= options.warm_up:
            sent.append((number, before))
            if future.result().success == (number % 2 == 0):
                received.append((number, after))
    write_stamps(options.sent, sent)
    write_stamps(options.received, received)


def write_stamps(path, stamps):
    if path:
        with open(path, "wb") as file:
            file.write(b"".join(struct.pack("<QQ", *stamp) for stamp in stamps))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["serve", "call-persistent"])
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--warm-up", type=int, default=0)
    parser.add_argument("--sent")
    parser.add_argument("--received")
    options, _ = parser.parse_known_args()
    rclpy.init()
    node = rclpy.create_node(options.role.replace("-", "_"))
    {"serve": serve, "call-persistent": call}[options.role](node, options)
    rclpy.try_shutdown()


main()
