//! Slave API: calls that masters and other nodes make to the node.

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

use super::config::TopicSpec;
use super::event::NodeEvent;
use super::fault::PeerFault;
use super::incoming::datagrams::DatagramRequest;
use super::{Caller, Conn, Linked, Node};
use crate::answer::{ERROR, FAILURE, SUCCESS, answer};
use crate::peer_text::sanitize;
use crate::xmlrpc::{Fault, Value};

/// Rows of `[topic, type]`.
fn topics<'a>(specs: impl Iterator<Item = &'a TopicSpec>) -> Vec<Value> {
    let row = |spec: &TopicSpec| vec![spec.topic.as_str().into(), spec.type_name.as_str().into()];
    specs.map(|spec| Value::Array(row(spec))).collect()
}

fn bad_arguments(method: &str) -> Value {
    answer(ERROR, &format!("{method}: wrong arguments"), 0)
}

/// The fault that roscpp returns for a missing argument or one of the wrong type.
fn type_error() -> Fault {
    Fault { code: -1, message: "type error".to_owned() }
}

/// A list of strings. roscpp also reads an empty string or struct as an empty list.
fn list_of_texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) if text.is_empty() => Some(Vec::new()),
        Value::Struct(members) if members.is_empty() => Some(Vec::new()),
        value => super::strings(value),
    }
}

impl Node {
    /// Answers one call to the slave API; `None` if the answer is sent later.
    pub(super) fn answer_call(
        &mut self,
        now: Instant,
        caller: Caller,
        method: &str,
        params: &[Value],
    ) -> Option<Result<Value, Fault>> {
        let answer = match method {
            "requestTopic" => match params {
                [_, topic, protocols] => return self.request_topic(caller, topic, protocols).map(Ok),
                _ => bad_arguments(method),
            },
            "publisherUpdate" => return Some(self.publisher_update(now, params)),
            "paramUpdate" => return Some(self.param_update(params)),
            "shutdown" => match params {
                [_] => self.shut_down(""),
                [_, reason] => self.shut_down(reason.as_str().unwrap_or_default()),
                _ => bad_arguments(method),
            },
            _ => match (self.read_only_answer(method), params) {
                (Some(answer), [_]) => answer,
                (Some(_), _) => bad_arguments(method),
                (None, _) => {
                    let message = format!("{method}: unknown method name");
                    return Some(Err(Fault { code: -1, message }));
                }
            },
        };
        Some(Ok(answer))
    }

    /// The answer to a method without side effects whose only argument is the caller's name; `None` for an unknown
    /// method.
    fn read_only_answer(&self, method: &str) -> Option<Value> {
        let Self { config, publications, subscriptions, .. } = self;
        Some(match method {
            "getPid" => answer(SUCCESS, "", config.pid),
            "getName" => answer(SUCCESS, "node name", config.name.as_str()),
            "getUri" => answer(SUCCESS, "node URI", config.uri()),
            "getMasterUri" => answer(SUCCESS, "master URI", config.master.to_string()),
            "getPublications" => answer(SUCCESS, "publications", topics(publications.values())),
            "getSubscriptions" => {
                answer(SUCCESS, "subscriptions", topics(subscriptions.values().map(|of| &of.spec)))
            }
            "getBusInfo" => answer(SUCCESS, "bus info", self.bus_info()),
            "getBusStats" => answer(SUCCESS, "bus stats", self.bus_stats()),
            _ => return None,
        })
    }

    /// Answers as roscpp 1.15 does, also to bad arguments; extra arguments are ignored.
    fn publisher_update(&mut self, now: Instant, params: &[Value]) -> Result<Value, Fault> {
        let [_, topic, uris, ..] = params else { return Err(type_error()) };
        let (topic, uris) =
            (topic.as_str().ok_or_else(type_error)?, list_of_texts(uris).ok_or_else(type_error)?);
        if !self.subscriptions.contains_key(topic) {
            return Ok(answer(FAILURE, "Unknown Error", 0));
        }
        self.publishers_updated(now, topic, &uris);
        // The valid URIs of the list are used.
        Ok(match uris.iter().find(|uri| super::canonical(uri).is_err()) {
            Some(uri) => answer(FAILURE, &format!("Bad xml-rpc URI: [{}]", sanitize(uri)), 0),
            None => answer(SUCCESS, "", 0),
        })
    }

    /// Answers as roscpp does: a call without key or value is answered as successful.
    fn param_update(&mut self, params: &[Value]) -> Result<Value, Fault> {
        let key = params.get(1).map(|key| key.as_str().ok_or_else(type_error)).transpose()?;
        if let (Some(key), Some(value)) = (key, params.get(2)) {
            self.on_parameter_changed(key, value);
        }
        Ok(answer(SUCCESS, "", 0))
    }

    /// Accepts the first offer that can be served. A UDPROS offer is answered later.
    fn request_topic(&mut self, caller: Caller, topic: &Value, protocols: &Value) -> Option<Value> {
        let (Some(topic), Some(protocols)) = (topic.as_str(), protocols.as_array()) else {
            return Some(bad_arguments("requestTopic"));
        };
        if !self.publications.contains_key(topic) {
            return Some(answer(ERROR, &format!("Not a publisher of [{topic}]"), Vec::new()));
        }
        let mut refusal = None;
        for offer in protocols.iter().filter_map(Value::as_array) {
            match offer.first().and_then(Value::as_str) {
                Some("TCPROS") => return Some(self.tcpros_address()),
                Some("UDPROS") => match self.open_for_subscriber(caller, topic, offer, protocols) {
                    Ok(()) => return None,
                    Err(why) => refusal = Some(why),
                },
                _ => {}
            }
        }
        let why =
            refusal.map_or_else(|| "no supported protocol implementations".to_owned(), |why| why.to_string());
        Some(answer(FAILURE, &why, Vec::new()))
    }

    /// The answer to `requestTopic` with the TCPROS address.
    fn tcpros_address(&self) -> Value {
        let (host, port) = (&self.config.host, i32::from(self.config.tcpros_port));
        let address = vec!["TCPROS".into(), host.as_str().into(), port.into()];
        answer(SUCCESS, &format!("ready on {host}:{port}"), address)
    }

    /// No socket can be opened for a UDPROS subscriber: it gets its other offer instead, unless the topic has ended.
    pub(super) fn answer_without_datagrams(&mut self, now: Instant, request: DatagramRequest, why: &str) {
        let (to, subscriber, why_not) = (request.to, request.subscriber.clone(), why.to_owned());
        self.report_fault(PeerFault::NoDatagramSocket { to, subscriber, why: why_not });
        let is_published = self.publications.contains_key(&request.topic);
        let answer = if request.takes_tcpros && is_published {
            self.tcpros_address()
        } else {
            answer(FAILURE, &format!("no datagram socket: {why}"), Vec::new())
        };
        self.rpc.reply(now, request.caller, Ok(answer));
    }

    /// Answers a UDPROS subscriber with an accepted offer.
    pub(super) fn answer_with_datagrams(&mut self, now: Instant, request: &DatagramRequest, port: u16) {
        let Some(link) = self.datagram_answer(request, port) else { return };
        let text = format!("datagrams come from port {port}");
        self.rpc.reply(now, request.caller, Ok(answer(SUCCESS, &text, link)));
    }

    fn shut_down(&mut self, reason: &str) -> Value {
        self.keep_parameters();
        self.events.push_back(NodeEvent::Stopped { reason: sanitize(reason) });
        answer(SUCCESS, "shutdown", 0)
    }

    /// Rows of `[id, peer, direction, transport, topic, connected, text]`, which `rosnode info` reads. The engine
    /// knows neither socket numbers nor the port of an outgoing connection, so the row's index stands for the socket
    /// and 0 for the port.
    fn bus_info(&self) -> Vec<Value> {
        let row = |(id, direction, link): (i32, &str, &Linked)| {
            let (peer, port) =
                if direction == "i" { (&link.uri, 0) } else { (&link.node, self.config.tcpros_port) };
            let (transport, port) = match link.datagram_port {
                Some(port) => ("UDPROS", port),
                None if link.stats.is_by_memory() => ("SHM", port),
                None => ("TCPROS", port),
            };
            let text = format!("{transport} connection on port {port} to [{} on socket {id}]", link.address);
            let (topic, peer) = (link.topic.as_str().into(), peer.as_str().into());
            Value::Array(vec![
                id.into(),
                peer,
                direction.into(),
                transport.into(),
                topic,
                true.into(),
                text.into(),
            ])
        };
        self.links().map(row).collect()
    }

    /// `[publications, subscriptions, services]`, each topic with its links and their counters.
    fn bus_stats(&self) -> Vec<Value> {
        let mut topics: SortedMap<(&str, &str), Vec<(i32, &Linked)>> = SortedMap::new();
        for (id, direction, link) in self.links() {
            topics.entry((direction, &link.topic)).or_default().push((id, link));
        }
        let (mut publications, mut subscriptions) = (Vec::new(), Vec::new());
        for ((direction, topic), links) in topics {
            match direction {
                "o" => publications.push(publication_stats(topic, &links)),
                _ => subscriptions.push(subscription_stats(topic, &links)),
            }
        }
        vec![publications.into(), subscriptions.into(), Vec::new().into()]
    }

    fn links(&self) -> impl Iterator<Item = (i32, &'static str, &Linked)> {
        self.conns.iter().filter_map(|(conn, role)| {
            let id = (conn.0 & 0x7fff_ffff) as i32;
            match role {
                Conn::Subscriber(link) => Some((id, "o", link)),
                Conn::LinkedPublisher(link) => Some((id, "i", link)),
                _ => None,
            }
        })
    }
}

/// A counter as an XML-RPC int.
fn count(count: u64) -> Value {
    Value::Int(i32::try_from(count).unwrap_or(i32::MAX))
}

/// `[topic, bytes sent, [[id, bytes, messages, connected, dropped messages], ..]]`. The original has no dropped
/// messages.
fn publication_stats(topic: &str, links: &[(i32, &Linked)]) -> Value {
    let row = |(id, link): &(i32, &Linked)| {
        let stats = &link.stats;
        let (bytes, messages, dropped) =
            (count(stats.bytes()), count(stats.messages()), count(stats.dropped()));
        Value::Array(vec![(*id).into(), bytes, messages, true.into(), dropped])
    };
    let sent = links.iter().map(|(_, link)| link.stats.bytes()).sum();
    Value::Array(vec![topic.into(), count(sent), links.iter().map(row).collect::<Vec<_>>().into()])
}

/// `[topic, [[id, bytes, dropped messages, connected, dropped messages], ..]]`. The drop count appears twice: rospy
/// has the count of all messages in its first place.
fn subscription_stats(topic: &str, links: &[(i32, &Linked)]) -> Value {
    let row = |(id, link): &(i32, &Linked)| {
        let (bytes, dropped) = (count(link.stats.bytes()), count(link.stats.dropped()));
        Value::Array(vec![(*id).into(), bytes, dropped.clone(), true.into(), dropped])
    };
    Value::Array(vec![topic.into(), links.iter().map(row).collect::<Vec<_>>().into()])
}
