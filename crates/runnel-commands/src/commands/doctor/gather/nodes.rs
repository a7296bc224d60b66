//! Facts that every node reports about itself. All are asked in parallel; a node that does not answer the first
//! question is not asked again.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

use super::reach::{self, Hosts, in_parallel};
use crate::commands::doctor::found::{NodeFound, ServerFault};
use crate::error::CliError;
use crate::graph::{Drops, Graph, NoAnswer, Question, read_connections, read_drops, read_pairs};

/// The calls to nodes that answer.
const QUESTIONS: [&str; 5] = ["getName", "getPublications", "getSubscriptions", "getBusInfo", "getBusStats"];

/// A node being examined.
struct Candidate<'n> {
    name: &'n str,
    uri: Uri,
    found: NodeFound,
}

/// Asks all nodes of these names.
///
/// # Errors
/// When the master no longer answers.
pub fn gather(
    graph: &Graph<'_>,
    names: &[&str],
    hosts: &mut Hosts,
) -> Result<BTreeMap<String, NodeFound>, CliError> {
    let (mut found, mut candidates) = (BTreeMap::new(), Vec::new());
    for (name, uri) in names.iter().zip(graph.look_up_all("lookupNode", names)?) {
        match candidate(name, uri.as_deref()) {
            Ok(candidate) => candidates.push(candidate),
            Err(fault) => {
                let node = NodeFound { uri, fault: Some(fault), ..NodeFound::default() };
                found.insert((*name).to_owned(), node);
            }
        }
    }
    hosts.look_up(candidates.iter().map(|candidate| candidate.uri.endpoint.host.as_str()));
    for candidate in &mut candidates {
        candidate.resolve(hosts);
    }
    ping(graph, &mut candidates)?;
    ask(graph, &mut candidates)?;
    found.extend(candidates.into_iter().map(|candidate| (candidate.name.to_owned(), candidate.found)));
    Ok(found)
}

/// A node to ask, or the fault of its address.
fn candidate<'n>(name: &'n str, uri: Option<&str>) -> Result<Candidate<'n>, ServerFault> {
    let text = uri.ok_or(ServerFault::NoUri)?;
    let uri = Uri::parse(text).map_err(|error| ServerFault::BadUri(error.to_string()))?;
    Ok(Candidate { name, uri, found: NodeFound { uri: Some(text.to_owned()), ..NodeFound::default() } })
}

impl Candidate<'_> {
    fn resolve(&mut self, hosts: &Hosts) {
        match hosts.address(&self.uri.endpoint.host) {
            Ok(address) => {
                self.found.own = reach::is_own(address);
                self.found.address = Some(address);
            }
            Err(fault) => self.found.fault = Some(fault),
        }
    }

    fn question(&self, method: &'static str) -> Question {
        Question { uri: self.uri.clone(), method, params: Vec::new() }
    }

    fn answered(&mut self, method: &str, answer: Result<Value, NoAnswer>) {
        let Ok(value) = answer else { return };
        match method {
            "getName" => self.found.reported_name = value.as_str().map(str::to_owned),
            "getPublications" => self.found.publications = read_pairs(&value).map(BTreeMap::from_iter),
            "getSubscriptions" => self.found.subscriptions = read_pairs(&value).map(BTreeMap::from_iter),
            "getBusInfo" => self.found.connections = read_connections(&value),
            _ => self.found.drops = read_drops(&value),
        }
    }
}

/// Checks which nodes answer, and examines why the others do not.
fn ping(graph: &Graph<'_>, candidates: &mut [Candidate<'_>]) -> Result<(), CliError> {
    let mut asked: Vec<&mut Candidate<'_>> = without_fault(candidates).collect();
    let questions: Vec<Question> = asked.iter().map(|candidate| candidate.question("getPid")).collect();
    let mut failed = Vec::new();
    for (candidate, answer) in asked.iter_mut().zip(graph.ask_all(&questions)?) {
        match answer.map(|pid| pid.as_int()) {
            Ok(Some(pid)) => candidate.found.pid = Some(pid),
            Ok(None) => {
                let why = "its process id is no number".to_owned();
                candidate.found.fault = Some(ServerFault::Nonsense(why));
            }
            Err(why) => failed.push((candidate, why)),
        }
    }
    let failures: Vec<_> = failed
        .iter()
        .map(|(candidate, why)| (candidate.found.address, candidate.uri.endpoint.port, why.clone()))
        .collect();
    let faults = in_parallel(&failures, |(address, port, why)| fault(*address, *port, why));
    for ((candidate, _), fault) in failed.into_iter().zip(faults) {
        candidate.found.fault = Some(fault);
    }
    Ok(())
}

fn without_fault<'c, 'n>(candidates: &'c mut [Candidate<'n>]) -> impl Iterator<Item = &'c mut Candidate<'n>> {
    candidates.iter_mut().filter(|candidate| candidate.found.fault.is_none())
}

/// The fault at an address where a call failed, found by opening a connection.
pub fn fault(address: Option<IpAddr>, port: u16, why: &NoAnswer) -> ServerFault {
    let Some(address) = address else { return ServerFault::Unreachable(why.to_string()) };
    match reach::connect(SocketAddr::new(address, port)) {
        Err(fault) => fault,
        Ok(_) if *why == NoAnswer::Late => ServerFault::Mute,
        Ok(_) => ServerFault::Nonsense(why.to_string()),
    }
}

/// Asks the nodes that answer all other questions.
fn ask(graph: &Graph<'_>, candidates: &mut [Candidate<'_>]) -> Result<(), CliError> {
    let mut asked: Vec<&mut Candidate<'_>> = without_fault(candidates).collect();
    let of_one = |candidate: &&mut Candidate<'_>| QUESTIONS.map(|method| candidate.question(method));
    let questions: Vec<Question> = asked.iter().flat_map(of_one).collect();
    let mut answers = graph.ask_all(&questions)?.into_iter();
    for candidate in &mut asked {
        for (method, answer) in QUESTIONS.into_iter().zip(&mut answers) {
            candidate.answered(method, answer);
        }
    }
    Ok(())
}

/// Asks these nodes one of the questions again. Nodes that no longer answer are left out.
///
/// # Errors
/// When the context ends first.
pub fn ask_again<R>(
    graph: &Graph<'_>,
    nodes: &[(&str, &NodeFound)],
    method: &'static str,
    read: impl Fn(&Value) -> R,
) -> Result<Vec<(String, R)>, CliError> {
    let question = |(name, node): &(&str, &NodeFound)| {
        let uri = Uri::parse(node.uri.as_deref()?).ok()?;
        Some(((*name).to_owned(), Question { uri, method, params: Vec::new() }))
    };
    let (names, questions): (Vec<String>, Vec<Question>) = nodes.iter().filter_map(question).unzip();
    let answers = names.into_iter().zip(graph.ask_all(&questions)?);
    Ok(answers.filter_map(|(name, answer)| Some((name, read(&answer.ok()?)))).collect())
}

/// The current counts of nodes that had dropped messages.
///
/// # Errors
/// As [`ask_again`].
pub fn drops_again(
    graph: &Graph<'_>,
    nodes: &[(&str, &NodeFound)],
) -> Result<Vec<(String, Vec<Drops>)>, CliError> {
    ask_again(graph, nodes, "getBusStats", read_drops)
}
