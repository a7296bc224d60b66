//! What every node says of itself. All are asked at the same time; one that does not answer the first question is
//! asked no other.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use runnel::ros1::rpc::Uri;
use runnel::ros1::xmlrpc::Value;

use super::reach::{self, Hosts, side_by_side};
use crate::commands::doctor::found::{NodeFound, Trouble};
use crate::error::CliError;
use crate::graph::{Drops, Graph, NoAnswer, Question, read_connections, read_drops, read_pairs};

/// What nodes that answer are asked.
const QUESTIONS: [&str; 5] = ["getName", "getPublications", "getSubscriptions", "getBusInfo", "getBusStats"];

/// A node on the way to being found.
struct Candidate<'n> {
    name: &'n str,
    uri: Uri,
    found: NodeFound,
}

/// Asks all nodes of these names.
///
/// # Errors
/// When the master does not answer any more.
pub fn gather(
    graph: &Graph<'_>,
    names: &[&str],
    hosts: &mut Hosts,
) -> Result<BTreeMap<String, NodeFound>, CliError> {
    let (mut found, mut candidates) = (BTreeMap::new(), Vec::new());
    for (name, uri) in names.iter().zip(graph.look_up_all("lookupNode", names)?) {
        match candidate(name, uri.as_deref()) {
            Ok(candidate) => candidates.push(candidate),
            Err(trouble) => {
                let node = NodeFound { uri, trouble: Some(trouble), ..NodeFound::default() };
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

/// A node to ask; one without a sound address is in trouble already.
fn candidate<'n>(name: &'n str, uri: Option<&str>) -> Result<Candidate<'n>, Trouble> {
    let text = uri.ok_or(Trouble::NoUri)?;
    let uri = Uri::parse(text).map_err(|error| Trouble::BadUri(error.to_string()))?;
    Ok(Candidate { name, uri, found: NodeFound { uri: Some(text.to_owned()), ..NodeFound::default() } })
}

impl Candidate<'_> {
    fn resolve(&mut self, hosts: &Hosts) {
        match hosts.address(&self.uri.endpoint.host) {
            Ok(address) => {
                self.found.own = reach::is_own(address);
                self.found.address = Some(address);
            }
            Err(trouble) => self.found.trouble = Some(trouble),
        }
    }

    fn question(&self, method: &'static str) -> Question {
        Question { uri: self.uri.clone(), method, params: Vec::new() }
    }

    fn answered(&mut self, method: &str, answer: Result<Value, NoAnswer>) {
        let Ok(value) = answer else { return };
        match method {
            "getName" => self.found.calls_itself = value.as_str().map(str::to_owned),
            "getPublications" => self.found.publications = read_pairs(&value).map(BTreeMap::from_iter),
            "getSubscriptions" => self.found.subscriptions = read_pairs(&value).map(BTreeMap::from_iter),
            "getBusInfo" => self.found.connections = read_connections(&value),
            _ => self.found.drops = read_drops(&value),
        }
    }
}

/// Sees which nodes answer, and looks into why others do not.
fn ping(graph: &Graph<'_>, candidates: &mut [Candidate<'_>]) -> Result<(), CliError> {
    let mut asked: Vec<&mut Candidate<'_>> = with_no_trouble(candidates).collect();
    let questions: Vec<Question> = asked.iter().map(|candidate| candidate.question("getPid")).collect();
    let mut failed = Vec::new();
    for (candidate, answer) in asked.iter_mut().zip(graph.ask_all(&questions)?) {
        match answer.map(|pid| pid.as_int()) {
            Ok(Some(pid)) => candidate.found.pid = Some(pid),
            Ok(None) => {
                let why = "its process id is no number".to_owned();
                candidate.found.trouble = Some(Trouble::Nonsense(why));
            }
            Err(why) => failed.push((candidate, why)),
        }
    }
    let where_and_why: Vec<_> = failed
        .iter()
        .map(|(candidate, why)| (candidate.found.address, candidate.uri.endpoint.port, why.clone()))
        .collect();
    let troubles = side_by_side(&where_and_why, |(address, port, why)| trouble(*address, *port, why));
    for ((candidate, _), trouble) in failed.into_iter().zip(troubles) {
        candidate.found.trouble = Some(trouble);
    }
    Ok(())
}

fn with_no_trouble<'c, 'n>(
    candidates: &'c mut [Candidate<'n>],
) -> impl Iterator<Item = &'c mut Candidate<'n>> {
    candidates.iter_mut().filter(|candidate| candidate.found.trouble.is_none())
}

/// What is wrong at an address where a call failed, seen by a connection that says nothing.
pub fn trouble(address: Option<IpAddr>, port: u16, why: &NoAnswer) -> Trouble {
    let Some(address) = address else { return Trouble::Unreachable(why.to_string()) };
    match reach::connect(SocketAddr::new(address, port)) {
        Err(trouble) => trouble,
        Ok(_) if *why == NoAnswer::Late => Trouble::Mute,
        Ok(_) => Trouble::Nonsense(why.to_string()),
    }
}

/// Asks those that answer all the rest.
fn ask(graph: &Graph<'_>, candidates: &mut [Candidate<'_>]) -> Result<(), CliError> {
    let mut asked: Vec<&mut Candidate<'_>> = with_no_trouble(candidates).collect();
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

/// Asks these nodes one of the questions again; those that do not answer it any more are left out.
///
/// # Errors
/// When the context ends before.
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

/// What nodes that had dropped something have dropped now.
///
/// # Errors
/// As [`ask_again`].
pub fn drops_again(
    graph: &Graph<'_>,
    nodes: &[(&str, &NodeFound)],
) -> Result<Vec<(String, Vec<Drops>)>, CliError> {
    ask_again(graph, nodes, "getBusStats", read_drops)
}
