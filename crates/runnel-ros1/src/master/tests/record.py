#!/usr/bin/env python3
"""Plays the calls of rosmaster.jsonl to a running rosmaster and writes them with its replies.

    rosmaster --core -p 11311 &
    record.py http://127.0.0.1:11311 < rosmaster.jsonl > recorded.jsonl

Each line is [method, arguments, reply]; a fault is recorded as {"fault": code}. The master's own process number
is written as 4242 and its URI as http://master:11311/, so that the recording does not depend on where it was made.
"""
import json
import sys
import xmlrpc.client

server = sys.argv[1]
master = xmlrpc.client.ServerProxy(server)
own_pid = master.getPid("/record")[2]
own_uri = master.getUri("/record")[2]


def neutral(value):
    if isinstance(value, (list, tuple)):
        return [neutral(element) for element in value]
    if isinstance(value, int) and not isinstance(value, bool) and value == own_pid:
        return 4242
    return "http://master:11311/" if value == own_uri else value


def reply(method, arguments):
    try:
        return neutral(getattr(master, method)(*arguments))
    except xmlrpc.client.Fault as fault:
        return {"fault": fault.faultCode}


for line in sys.stdin:
    method, arguments, *_ = json.loads(line)
    print(json.dumps([method, arguments, reply(method, arguments)], ensure_ascii=False))
