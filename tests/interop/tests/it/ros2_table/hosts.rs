//! Hosts connected by cables, with default configuration.

use interop::capture::Capture;
use interop::ros2::{Distro, Origin};
use interop::ros2_checks::expect_line;
use interop::ros2_hosts::Host;
use interop::sheet::{Cell, PASS, Row, Sheet};
use interop::{check_all_received, ready};
use runnel_testkit::process::Peer;

use super::{Direction, column, directions, other};

/// Common arguments of talkers and listeners.
const BYTES: [&str; 5] = ["/bytes", "--count", "6", "--type", "std_msgs/msg/UInt8MultiArray"];

/// The gate file of a host's talkers.
const GATE: &str = "/tmp/gate";

/// A test, and the implementations that it applies to.
type Case = (&'static str, fn(Origin) -> bool, fn(Direction));

const CASES: [Case; 13] = [
    ("two hosts", |_| true, two_hosts),
    ("Runnel's host gets its address late", is_common, late_address),
    ("Runnel's host has two interfaces", is_common, two_interfaces),
    ("the peer's host has two interfaces", |origin| origin == KILTED, two_interfaces_there),
    ("Runnel has the peer's address, no multicast", is_ros, named_by_runnel),
    ("the peer has Runnel's address, no multicast", is_ros, named_by_other),
    ("Runnel in range `LOCALHOST` has the peer's address", is_ros, named_by_runnel_on_localhost),
    ("the peer in range `LOCALHOST` has Runnel's address", is_ros, named_by_other_on_localhost),
    ("Runnel in range `LOCALHOST`, on the same host", is_common, localhost_near),
    ("Runnel in range `LOCALHOST`, on another host: not discovered", is_common, localhost_far),
    ("both in range `LOCALHOST`, loopback without multicast", is_ros, both_localhost),
    ("Runnel in range `OFF`: not discovered", is_common, off),
    ("Runnel in another domain: not discovered", is_common, other_domain),
];

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

/// Whether an implementation reads the variables of ROS 2.
fn is_ros(origin: Origin) -> bool {
    matches!(origin, Origin::Ros2(_))
}

/// One implementation of each kind that ROS 2 is based on.
fn is_common(origin: Origin) -> bool {
    matches!(origin, KILTED | Origin::Cyclone)
}

pub fn sheet() -> Sheet<()> {
    let row = |(title, applies, attempt): &Case| {
        let cell = |direction: &Direction| {
            let (direction, attempt) = (*direction, *attempt);
            let name = format!("{title}, {}", column(direction));
            let attempt = move |(): &()| {
                attempt(direction);
                PASS.to_owned()
            };
            applies(other(direction)).then(|| Cell { name, attempt: Box::new(attempt) })
        };
        Row { title: (*title).to_owned(), cells: directions().iter().map(cell).collect() }
    };
    Sheet {
        title: "Between hosts",
        text: TEXT,
        columns: directions().iter().map(|direction| column(*direction)).collect(),
        rows: CASES.iter().map(row).collect(),
    }
}

const TEXT: &str = "\
Hosts are network namespaces joined by virtual cables (veth). Unless a row says otherwise, no variable and no file is set: the
domain is 0, and discovery is by multicast. Cyclone DDS uses only one interface by default.

In rows that end with *not discovered*, a cell passes if the two ends do not discover each other. *The peer* is the program of
the other implementation.";

/// A node on a host, with its own variables.
#[derive(Clone, Copy)]
struct Place<'a> {
    host: &'a Host,
    origin: Origin,
    variables: &'a [(&'static str, &'a str)],
}

impl Place<'_> {
    /// Starts a talker for this kind of listener; it waits for the host's gate.
    fn talker(&self, to: Origin) -> Peer {
        // One datagram each: dust_dds corrupts longer messages.
        let short = [self.origin, to].contains(&Origin::DustDds);
        let sizes = ["--sizes", if short { "0,1,1000" } else { "0,1,1000,65000,100000,1000000" }];
        let words = [&BYTES[..], &sizes, &["--after", GATE]].concat();
        self.host.node(self.origin, "talker", &words, self.variables)
    }

    fn listener(&self) -> Peer {
        self.host.node(self.origin, "listener", &BYTES, self.variables)
    }
}

/// Places of Runnel and of the other, sender first.
fn ordered<'a>((from, to): Direction, runnel: &'a Host, there: &'a Host) -> [Place<'a>; 2] {
    [from, to].map(|origin| {
        let host = if origin == Origin::Runnel { runnel } else { there };
        Place { host, origin, variables: &[] }
    })
}

/// A started talker and listener.
struct Exchange<'a> {
    host: &'a Host,
    talker: Peer,
    listener: Peer,
}

impl<'a> Exchange<'a> {
    fn begin([from, to]: [Place<'a>; 2]) -> Exchange<'a> {
        let listener = ready(to.listener());
        Exchange { host: from.host, talker: from.talker(to.origin), listener }
    }

    /// Ends when all messages have been received.
    fn end(mut self) {
        expect_line(&mut self.talker, "matched 1");
        expect_line(&mut self.listener, "matched 1");
        self.host.set(&["touch", GATE]);
        check_all_received(&mut self.talker, &mut [self.listener], 6);
    }
}

/// Checks that Runnel's traffic on a cable is valid during an action.
fn soundly(host: &Host, cable: &str, goes_on: impl FnOnce()) {
    let capture = Capture::at(host, cable);
    goes_on();
    let unsound = capture.cut().unsound_rtps("rtps.vendorId == 0x0172");
    assert!(unsound.is_empty(), "{unsound:#?}");
}

fn two_hosts(direction: Direction) {
    let [one, two] = Host::two();
    soundly(&one, "cable", || Exchange::begin(ordered(direction, &one, &two)).end());
}

/// Only Runnel's host changes: not all others notice addresses that appear later.
fn late_address(direction: Direction) {
    let [one, two] = [Host::start(), Host::start()];
    one.lay_loose_cable(&two, "cable", "10.0.0.2");
    let mut exchange = Exchange::begin(ordered(direction, &one, &two));
    exchange.talker = ready(exchange.talker);
    one.plug_in("cable", "10.0.0.1");
    soundly(&one, "cable", || exchange.end());
}

/// A host in the middle, and one on each side.
fn three() -> [Host; 3] {
    let [left, middle, right] = [Host::start(), Host::start(), Host::start()];
    middle.lay_cable(&left, "left", ["10.0.1.1", "10.0.1.2"]);
    middle.lay_cable(&right, "right", ["10.0.2.1", "10.0.2.2"]);
    [left, middle, right]
}

fn two_interfaces(direction: Direction) {
    let [left, middle, right] = three();
    for side in [&left, &right] {
        Exchange::begin(ordered(direction, &middle, side)).end();
        middle.set(&["rm", "-f", GATE]);
    }
}

fn two_interfaces_there(direction: Direction) {
    let [left, middle, right] = three();
    for side in [&left, &right] {
        Exchange::begin(ordered(direction, side, &middle)).end();
        middle.set(&["rm", "-f", GATE]);
    }
}

/// A cable without multicast; one of both has the other's address, in addition to these variables.
fn named(direction: Direction, by: impl Fn(Origin) -> bool, beside: &[(&'static str, &'static str)]) {
    let [one, two] = Host::two();
    for host in [&one, &two] {
        host.set(&["nft", NO_MULTICAST]);
    }
    let [by_runnel, by_other] = [PEER_2, PEER_1].map(|address| [address, beside].concat());
    let mut places = ordered(direction, &one, &two);
    for place in &mut places {
        let variables = if place.origin == Origin::Runnel { &by_runnel } else { &by_other };
        place.variables = if by(place.origin) { variables } else { &[] };
    }
    Exchange::begin(places).end();
}

const NO_MULTICAST: &str = "add table ip far; add chain ip far in { type filter hook input priority 0; }; \
                            add rule ip far in iif cable ip daddr 224.0.0.0/4 drop";
const PEER_1: &[(&str, &str)] = &[("ROS_STATIC_PEERS", "10.0.0.1")];
const PEER_2: &[(&str, &str)] = &[("ROS_STATIC_PEERS", "10.0.0.2")];

fn named_by_runnel(direction: Direction) {
    named(direction, |origin| origin == Origin::Runnel, &[]);
}

fn named_by_other(direction: Direction) {
    named(direction, |origin| origin != Origin::Runnel, &[]);
}

fn named_by_runnel_on_localhost(direction: Direction) {
    named(direction, |origin| origin == Origin::Runnel, LOCALHOST);
}

fn named_by_other_on_localhost(direction: Direction) {
    named(direction, |origin| origin != Origin::Runnel, LOCALHOST);
}

/// Checks that a Runnel node with these variables is not discovered by the other, which discovers one without them.
fn does_not_meet(direction: Direction, runnel: &Host, there: &Host, variables: &[(&'static str, &str)]) {
    let [from, to] = ordered(direction, runnel, there);
    let hidden = |place: Place<'_>| {
        ready(match place.origin == from.origin {
            true => Place { variables, ..place }.talker(to.origin),
            false => Place { variables, ..place }.listener(),
        })
    };
    let is_met = |peer: &Peer, by: &str| peer.lines().iter().any(|line| line == by);
    let hidden = hidden(if from.origin == Origin::Runnel { from } else { to });
    let exchange = Exchange::begin([from, to]);
    let Exchange { host, mut talker, mut listener } = exchange;
    expect_line(&mut talker, "matched 1");
    expect_line(&mut listener, "matched 1");
    host.set(&["touch", GATE]);
    let met_two = || [&talker, &listener].map(|peer| is_met(peer, "matched 2"));
    assert_eq!((met_two(), is_met(&hidden, "matched 1")), ([false; 2], false), "{}", hidden.output());
    check_all_received(&mut talker, &mut [listener], 6);
    assert!(!is_met(&talker, "matched 2") && !is_met(&hidden, "matched 1"), "{}", hidden.output());
}

const LOCALHOST: &[(&str, &str)] = &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")];

fn localhost_far(direction: Direction) {
    let [one, two] = Host::two();
    does_not_meet(direction, &one, &two, LOCALHOST);
}

fn localhost_near(direction: Direction) {
    let [one, _two] = Host::two();
    let places = ordered(direction, &one, &one);
    let variables = |origin| if origin == Origin::Runnel { LOCALHOST } else { &[] };
    soundly(&one, "lo", || {
        Exchange::begin(places.map(|place| Place { variables: variables(place.origin), ..place })).end();
    });
}

/// Linux's own loopback, which lacks the multicast flag.
fn both_localhost(direction: Direction) {
    let [one, _two] = Host::two();
    one.set_network(&["link", "set", "lo", "multicast", "off"]);
    let places = ordered(direction, &one, &one);
    soundly(&one, "lo", || {
        Exchange::begin(places.map(|place| Place { variables: LOCALHOST, ..place })).end();
    });
}

fn off(direction: Direction) {
    let [one, _two] = Host::two();
    does_not_meet(direction, &one, &one, &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")]);
}

fn other_domain(direction: Direction) {
    let [one, _two] = Host::two();
    does_not_meet(direction, &one, &one, &[("ROS_DOMAIN_ID", "1")]);
}
