//! Examines the ROS 2 network without joining a graph: announcements of all domains, multicast by each interface, the
//! processes of this host, and their receive buffers.

mod announcements;
mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use runnel::{Context, DiscoveryRange, Graphs, Ros2Graph};
use runnel_io::Datagrams;

use super::reach;
use crate::cli_context::CliContext;
use crate::commands::doctor::network::found::{Buffers, NetworkFound, RosProcess, topic_of};
use crate::commands::doctor::ros2::found::Ros2Found;
use crate::graphs::{Discovery, is_publisher};

/// The variables that concern discovery.
pub const VARIABLES: [&str; 7] = [
    "ROS_DOMAIN_ID",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "RMW_IMPLEMENTATION",
    "ROS_DISTRO",
];

/// Number of other domains that are looked into, and how long.
const MOST_DOMAINS: usize = 16;
const OTHER_DOMAIN: Duration = Duration::from_secs(1);

/// More than any limit of receive buffers, in bytes.
const HUGE: usize = 1 << 30;

/// Examines the network, until everything has arrived that is announced regularly, or until `is_enough`.
pub fn gather(context: Option<&Context>, is_enough: &AtomicBool) -> NetworkFound {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let set = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
    let variables: BTreeMap<String, String> = set.collect();
    let Some(context) = context else {
        return NetworkFound { variables, ..NetworkFound::default() };
    };
    let (domain, range) = (context.domain_id().unwrap_or_default(), context.discovery_range());
    let before = processes::gather(domain);
    let (announced, interfaces) = announcements::gather(domain, range, is_enough);
    let mut processes = processes::gather(domain);
    processes.iter_mut().for_each(|process| compare(process, &before));
    let peers = peers(&variables, range);
    let buffers = buffers();
    let other_domains = BTreeMap::new();
    NetworkFound { domain, range, variables, peers, interfaces, announced, processes, other_domains, buffers }
}

/// Notes whether the process was there before, and whether the kernel has dropped datagrams meanwhile.
fn compare(process: &mut RosProcess, before: &[RosProcess]) {
    let earlier = before.iter().find(|one| one.pid == process.pid && one.domain == process.domain);
    process.is_lasting = earlier.is_some();
    process.is_dropping = earlier.is_some_and(|earlier| process.dropped > earlier.dropped);
}

/// The named peers, with their addresses.
fn peers(
    variables: &BTreeMap<String, String>,
    range: Option<DiscoveryRange>,
) -> Vec<(String, Option<IpAddr>)> {
    let is_used = range.is_some_and(|range| range != DiscoveryRange::Off)
        && variables.get("ROS_LOCALHOST_ONLY").is_none_or(|value| value != "1");
    let list = variables.get("ROS_STATIC_PEERS").filter(|_| is_used);
    let names =
        list.into_iter().flat_map(|list| list.split(';')).map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    reach::in_parallel(&names, |name| ((*name).to_owned(), reach::address(name).ok()))
}

/// Sizes of receive buffers, as the kernel grants them. It reports twice what it was asked for.
fn buffers() -> Option<Buffers> {
    let socket = Datagrams::bind(Ipv4Addr::LOCALHOST.into()).ok()?;
    let default = socket.receive_buffer_size().ok()? as u64;
    socket.set_receive_buffer_size(HUGE).ok()?;
    let most = socket.receive_buffer_size().ok()? as u64 / 2;
    Some(Buffers { most, default })
}

/// Looks into other domains, if something is missing in this one.
pub fn probe_other_domains(
    cli: &CliContext,
    network: &mut NetworkFound,
    ros2: Option<&Ros2Found>,
    has_master: bool,
) {
    let is_missing = match ros2 {
        Some(found) if found.has_nodes => has_lone_end(&found.graph),
        _ => !has_master,
    };
    if !is_missing || network.range.is_none() {
        return;
    }
    // A process of this host may be a command that has ended.
    let lasting = network.processes.iter().filter(|process| process.is_lasting).map(|process| process.domain);
    let announced = network.announced.iter().filter(|one| !one.is_same_host).map(|one| one.domain);
    let all = announced.chain(lasting);
    let domains: BTreeSet<u16> = all.filter(|domain| *domain != network.domain).collect();
    let domains: Vec<u16> = domains.into_iter().take(MOST_DOMAINS).collect();
    network.other_domains = thread::scope(|scope| {
        let looks: Vec<_> = domains.iter().map(|domain| scope.spawn(|| look_into(cli, *domain))).collect();
        let graphs =
            domains.iter().zip(looks).filter_map(|(domain, look)| Some((*domain, look.join().ok()??)));
        graphs.collect()
    });
}

fn look_into(cli: &CliContext, domain: u16) -> Option<Ros2Graph> {
    let options = cli.options(false).graphs(Graphs::Ros2).domain_id(domain);
    let context = Context::with_options(options).ok()?;
    Discovery::default().discover_within(&context, OTHER_DOMAIN).ok()
}

/// Whether a topic has publishers or subscriptions only.
fn has_lone_end(graph: &Ros2Graph) -> bool {
    let mut topics: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for end in &graph.endpoints {
        if let Some(topic) = topic_of(end) {
            topics.entry(topic).or_default()[usize::from(is_publisher(end))] = true;
        }
    }
    topics.values().any(|sides| sides.contains(&false))
}
