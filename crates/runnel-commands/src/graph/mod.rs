//! What the master and the nodes know, asked for over XML-RPC.

mod answers;
#[cfg(test)]
pub mod fake;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use runnel::ros1::answer::SUCCESS;
use runnel::ros1::rpc::{CallError, Uri, UriError};
use runnel::ros1::xmlrpc::Value;
use runnel::{Context, Error};

use crate::error::{CliError, plain};
pub use answers::{Connection, Drops, read_connections, read_drops, read_pairs};
use answers::{dropped, known_connections, parts, text};
use state::read_state;
pub use state::{Holders, Listing, SystemState, is_within, names_of};

/// How long the master may take over an answer.
const MASTER_DEADLINE: Duration = Duration::from_secs(5);

/// How long a node may take over an answer.
pub const NODE_DEADLINE: Duration = Duration::from_secs(3);

/// The name under which this program calls.
const CALLER: &str = "/runnel";

/// The graph as seen from this program.
pub struct Graph<'a> {
    context: &'a Context,
    deadline: Duration,
}

/// A question to a node or to the master, one of many.
#[derive(Clone, Debug)]
pub struct Question {
    /// Whom to ask.
    pub uri: Uri,
    /// What is asked.
    pub method: &'static str,
    /// With which parameters, but for the caller's name.
    pub params: Vec<Value>,
}

/// How many questions are under way at a time: each may take a descriptor.
const SIDE_BY_SIDE: usize = 256;

impl<'a> Graph<'a> {
    /// The graph of the context's master.
    pub fn new(context: &'a Context) -> Self {
        Self { context, deadline: MASTER_DEADLINE }
    }

    /// The same, asked for in less time.
    pub fn within(context: &'a Context, deadline: Duration) -> Self {
        Self { context, deadline }
    }

    /// Makes sure that the master answers.
    ///
    /// # Errors
    /// When it does not, with what the user can do, as all of these.
    pub fn check_master(&self) -> Result<(), CliError> {
        self.ask("getPid", &[]).map(drop)
    }

    /// Who publishes, subscribes and serves.
    pub fn system_state(&self) -> Result<SystemState, CliError> {
        self.listing().map(SystemState::from)
    }

    /// The same in the master's order.
    pub fn listing(&self) -> Result<Listing, CliError> {
        let state = self.ask("getSystemState", &[])?;
        read_state(&state).ok_or_else(|| self.malformed("getSystemState"))
    }

    /// The types of all topics that the master knows.
    pub fn topic_types(&self) -> Result<BTreeMap<String, String>, CliError> {
        self.listed_topic_types().map(BTreeMap::from_iter)
    }

    /// The same in the master's order.
    pub fn listed_topic_types(&self) -> Result<Vec<(String, String)>, CliError> {
        self.pairs("getTopicTypes", &[])
    }

    /// The types of the topics that somebody publishes.
    pub fn published_types(&self) -> Result<BTreeMap<String, String>, CliError> {
        self.pairs("getPublishedTopics", &["/"]).map(BTreeMap::from_iter)
    }

    fn pairs(&self, method: &str, params: &[&str]) -> Result<Vec<(String, String)>, CliError> {
        let pairs = self.ask(method, params)?;
        read_pairs(&pairs).ok_or_else(|| self.malformed(method))
    }

    /// Where a node answers; `None` if the master does not know the node.
    pub fn node_uri(&self, node: &str) -> Result<Option<String>, CliError> {
        let (status, _, value) = self.call_as(CALLER, "lookupNode", &[node])?;
        Ok(value.as_str().filter(|_| status == SUCCESS).map(str::to_owned))
    }

    /// Where a service answers; `None` if the master does not know the service.
    pub fn service_uri(&self, service: &str) -> Result<Option<String>, CliError> {
        let (status, _, value) = self.call_as(CALLER, "lookupService", &[service])?;
        Ok(value.as_str().filter(|_| status == SUCCESS).map(str::to_owned))
    }

    /// The names of all parameters, in order.
    pub fn param_names(&self) -> Result<Vec<String>, CliError> {
        let names = self.ask("getParamNames", &[])?;
        let names: Option<Vec<String>> = names.as_array().and_then(|names| names.iter().map(text).collect());
        let mut names = names.ok_or_else(|| self.malformed("getParamNames"))?;
        names.sort();
        Ok(names)
    }

    /// The value of a parameter, if it has one.
    pub fn param(&self, name: &str) -> Result<Option<Value>, CliError> {
        let (status, _, value) = self.call_as(CALLER, "getParam", &[name])?;
        Ok(Some(value).filter(|_| status == SUCCESS))
    }

    /// Sets a parameter.
    pub fn set_param(&self, name: &str, value: Value) -> Result<(), CliError> {
        self.change("setParam", &[CALLER.into(), name.into(), value])
    }

    /// Removes a parameter that has a value.
    pub fn delete_param(&self, name: &str) -> Result<(), CliError> {
        self.change("deleteParam", &[CALLER.into(), name.into()])
    }

    fn change(&self, method: &str, params: &[Value]) -> Result<(), CliError> {
        match self.call_values(method, params)? {
            (SUCCESS, ..) => Ok(()),
            (_, text, _) => Err(CliError::Failed(text)),
        }
    }

    /// Removes a registration in the name of a node: `method` is `unregisterPublisher` or the like.
    pub fn unregister(&self, node: &str, method: &str, name: &str, uri: &str) -> Result<(), CliError> {
        self.call_as(node, method, &[name, uri]).map(drop)
    }

    /// The process id of the node at `uri`.
    pub fn pid(&self, uri: &str) -> Result<i32, CliError> {
        let pid = self.ask_node(uri, "getPid", &[])?;
        pid.as_int().ok_or_else(|| malformed(uri, "getPid"))
    }

    /// The connections of the node at `uri`, as far as it tells them: some clients answer nothing of use, or do not know
    /// the method.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn connections(&self, uri: &str) -> Result<Vec<Connection>, CliError> {
        match self.call_node(uri, "getBusInfo", &[]) {
            Ok(answer) => Ok(parts(answer).map_or(Vec::new(), |(_, _, info)| known_connections(&info))),
            Err(NoAnswer::Fault(_) | NoAnswer::Malformed) => Ok(Vec::new()),
            Err(error) => Err(error.of(uri)),
        }
    }

    /// How many messages of a topic the node at `uri` says it dropped for slow links in this direction; `None` if it
    /// does not say, as roscpp does not.
    pub fn dropped(&self, uri: &str, topic: &str, direction: &str) -> Option<i64> {
        dropped(&self.ask_node(uri, "getBusStats", &[]).ok()?, topic, direction)
    }

    /// Tells the node at `uri` to end. One that ends before it has answered has heard it.
    pub fn shut_down(&self, uri: &str, why: &str) -> Result<(), CliError> {
        match self.call_node(uri, "shutdown", &[why]) {
            Ok(_) | Err(NoAnswer::Closed(_)) => Ok(()),
            Err(error) => Err(error.of(uri)),
        }
    }

    /// Asks the master for an address of each name: `method` is `lookupNode` or `lookupService`. `None` for a name that
    /// it does not know.
    ///
    /// # Errors
    /// When the master does not answer, or the context ends before.
    pub fn look_up_all(&self, method: &'static str, names: &[&str]) -> Result<Vec<Option<String>>, CliError> {
        let uri = self.context.master_uri();
        let question = |name: &&str| Question { uri: uri.clone(), method, params: vec![(*name).into()] };
        let answers = self.ask_all(&names.iter().map(question).collect::<Vec<_>>())?;
        let address = |answer| match answer {
            Ok(address) => text(&address).map(Some).ok_or_else(|| self.malformed(method)),
            Err(NoAnswer::Refused(_)) => Ok(None),
            Err(NoAnswer::Malformed) => Err(self.malformed(method)),
            Err(why) => Err(self.no_answer(&why)),
        };
        answers.into_iter().map(address).collect()
    }

    /// Asks many questions side by side. The answers come in the order of the questions.
    ///
    /// # Errors
    /// When the context ends before.
    pub fn ask_all(&self, questions: &[Question]) -> Result<Vec<Result<Value, NoAnswer>>, CliError> {
        let mut answers = Vec::with_capacity(questions.len());
        for some in questions.chunks(SIDE_BY_SIDE) {
            let with_caller = |question: &Question| [&[CALLER.into()], &question.params[..]].concat();
            let params: Vec<Vec<Value>> = some.iter().map(with_caller).collect();
            let asked = some.iter().zip(&params);
            let calls: Vec<_> =
                asked.map(|(question, params)| (&question.uri, question.method, &params[..])).collect();
            let told = self.context.call_all(&calls, NODE_DEADLINE.min(self.deadline))?;
            answers.extend(told.into_iter().map(granted));
        }
        Ok(answers)
    }

    /// Asks the master what it cannot refuse.
    fn ask(&self, method: &str, params: &[&str]) -> Result<Value, CliError> {
        match self.call_as(CALLER, method, params)? {
            (SUCCESS, _, value) => Ok(value),
            (_, text, _) => Err(CliError::Failed(format!("the master refuses {method}: {text}"))),
        }
    }

    fn call_as(&self, caller: &str, method: &str, params: &[&str]) -> Result<(i32, String, Value), CliError> {
        self.call_values(method, &with_caller(caller, params))
    }

    fn call_values(&self, method: &str, params: &[Value]) -> Result<(i32, String, Value), CliError> {
        let answer = self.context.call_master(method, params, self.deadline);
        let answer = answer.map_err(|error| self.no_answer(&error.into()))?;
        parts(answer).ok_or_else(|| self.malformed(method))
    }

    fn ask_node(&self, uri: &str, method: &str, params: &[&str]) -> Result<Value, CliError> {
        let answer = self.call_node(uri, method, params).map_err(|error| error.of(uri))?;
        match parts(answer) {
            Some((SUCCESS, _, value)) => Ok(value),
            Some((_, text, _)) => Err(CliError::Failed(format!("{uri} refuses {method}: {text}"))),
            None => Err(malformed(uri, method)),
        }
    }

    fn call_node(&self, uri: &str, method: &str, params: &[&str]) -> Result<Value, NoAnswer> {
        let no_address = |error: UriError| NoAnswer::Failed(error.to_string());
        let address = Uri::parse(uri).map_err(no_address)?;
        let answer = self.context.call(
            &address,
            method,
            &with_caller(CALLER, params),
            NODE_DEADLINE.min(self.deadline),
        );
        answer.map_err(NoAnswer::from)
    }

    fn malformed(&self, method: &str) -> CliError {
        malformed(&format!("the master at {}", self.context.master_uri()), method)
    }

    fn no_answer(&self, why: &NoAnswer) -> CliError {
        let uri = self.context.master_uri();
        let hint = "is it running? start one with 'runnel master', or set ROS_MASTER_URI";
        CliError::Failed(format!("cannot reach the master at {uri}: {why} ({hint})"))
    }
}

fn malformed(who: &str, method: &str) -> CliError {
    CliError::Failed(format!("{who} gives a malformed answer to {method}"))
}

/// Why whoever was asked did not grant it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It answered that it does not, in these words.
    Refused(String),
    /// What it answered is no answer.
    Malformed,
    /// The connection ended after the call was sent.
    Closed(String),
    /// There was no answer in time.
    Late,
    /// It answered with a fault: it does not know the method, or the method broke.
    Fault(String),
    /// It could not be called.
    Failed(String),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        match error {
            Error::Call(CallError::Closed { why, .. }) => {
                Self::Closed(why.map_or("connection closed before the answer".to_owned(), |why| plain(&why)))
            }
            Error::Call(CallError::Unreachable { why, .. }) => {
                Self::Failed(why.map_or("no connection".to_owned(), |why| plain(&why)))
            }
            Error::Call(CallError::TimedOut { .. }) => Self::Late,
            Error::Call(error @ CallError::Fault { .. }) => Self::Fault(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) | Self::Closed(why) | Self::Fault(why) | Self::Failed(why) => f.write_str(why),
            Self::Malformed => f.write_str("its answer is malformed"),
            Self::Late => f.write_str("no answer in time"),
        }
    }
}

impl NoAnswer {
    fn of(&self, uri: &str) -> CliError {
        CliError::Failed(format!("{uri}: {self}"))
    }
}

/// The value of an answer that grants what was asked.
fn granted(answer: Result<Value, Error>) -> Result<Value, NoAnswer> {
    match parts(answer?) {
        Some((SUCCESS, _, value)) => Ok(value),
        Some((_, text, _)) => Err(NoAnswer::Refused(text)),
        None => Err(NoAnswer::Malformed),
    }
}

fn with_caller(caller: &str, params: &[&str]) -> Vec<Value> {
    [caller].iter().chain(params).map(|text| Value::from(*text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_tells_no_bus_info_has_no_known_connections() {
        let context = fake::context(Vec::new());
        let connections =
            |uri: &str| Graph::new(&context).connections(uri).map_err(|error| error.to_string());
        for value in [fake::granted(""), fake::granted(0), fake::refused("not implemented"), 7.into()] {
            assert_eq!(connections(&fake::server(vec![Some(value)])), Ok(Vec::new()));
        }
        let at = runnel::MasterOptions::at((std::net::Ipv4Addr::LOCALHOST, 0));
        let server = context.start_master(at).expect("a free port").to_string();
        assert_eq!(connections(&server), Ok(Vec::new()), "a fault: it does not know the method");
        assert!(connections(&fake::server(vec![None])).is_err(), "a node that hangs up is in trouble");
    }

    #[test]
    fn a_name_is_unknown_where_the_master_says_so_and_not_where_it_says_nothing() {
        let look_up = |answer| {
            let context = fake::context(vec![answer]);
            let found = Graph::new(&context).look_up_all("lookupNode", &["/a"]);
            found.map_err(|error| (context.master_uri().to_string(), error.to_string()))
        };
        let address = || "http://robot:1/".to_owned();
        assert_eq!(look_up(Some(fake::granted(address()))), Ok(vec![Some(address())]));
        assert_eq!(look_up(Some(fake::refused("unknown node [/a]"))), Ok(vec![None]));
        for none in [None, Some("no answer".into()), Some(fake::granted(5))] {
            let (uri, error) = look_up(none).expect_err("nothing is known");
            assert!(error.contains(&format!("the master at {uri}")), "{error}");
        }
    }
}
