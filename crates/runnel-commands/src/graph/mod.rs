//! Data of the master and the nodes, requested over XML-RPC.

mod answers;
#[cfg(test)]
pub mod fake;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use runnel::{Context, Error};
use runnel_ros1::answer::SUCCESS;
use runnel_ros1::rpc::{CallError, Uri, UriError};
use runnel_ros1::xmlrpc::Value;

use crate::error::{CliError, plain};
use crate::originals::command_line::MASTER;
pub use answers::{Connection, Drops, read_connections, read_drops, read_pairs};
use answers::{dropped, known_connections, parts, text};
use state::read_state;
pub use state::{Holders, Listing, SystemState, is_within, names_of};

/// How long the master may take to answer.
const MASTER_DEADLINE: Duration = Duration::from_secs(5);

/// How long a node may take to answer.
pub const NODE_DEADLINE: Duration = Duration::from_secs(3);

/// The caller id of this program.
const CALLER: &str = "/runnel";

/// The ROS 1 graph.
pub struct Graph<'a> {
    context: &'a Context,
    deadline: Duration,
}

/// One of many questions to nodes or the master.
#[derive(Clone, Debug)]
pub struct Question {
    /// The server to ask.
    pub uri: Uri,
    /// The method.
    pub method: &'static str,
    /// The parameters, without the caller id.
    pub params: Vec<Value>,
}

/// Questions in progress at a time: each may need a descriptor.
const PARALLEL: usize = 256;

impl<'a> Graph<'a> {
    /// The graph of the context's master.
    pub fn new(context: &'a Context) -> Self {
        Self { context, deadline: MASTER_DEADLINE }
    }

    /// The same with another deadline.
    pub fn within(context: &'a Context, deadline: Duration) -> Self {
        Self { context, deadline }
    }

    /// Checks that the master answers.
    ///
    /// # Errors
    /// When it does not; the error says what the user can do. The same holds for all methods.
    pub fn check_master(&self) -> Result<(), CliError> {
        self.ask("getPid", &[]).map(drop)
    }

    /// The publishers, subscribers and service providers.
    pub fn system_state(&self) -> Result<SystemState, CliError> {
        self.listing().map(SystemState::from)
    }

    /// The same in the master's order.
    pub fn listing(&self) -> Result<Listing, CliError> {
        let state = self.ask("getSystemState", &[])?;
        read_state(&state).ok_or_else(|| self.malformed("getSystemState"))
    }

    /// The types of all topics, according to the master.
    pub fn topic_types(&self) -> Result<BTreeMap<String, String>, CliError> {
        self.listed_topic_types().map(BTreeMap::from_iter)
    }

    /// The same in the master's order.
    pub fn listed_topic_types(&self) -> Result<Vec<(String, String)>, CliError> {
        self.pairs("getTopicTypes", &[])
    }

    /// The types of published topics.
    pub fn published_types(&self) -> Result<BTreeMap<String, String>, CliError> {
        self.pairs("getPublishedTopics", &["/"]).map(BTreeMap::from_iter)
    }

    fn pairs(&self, method: &str, params: &[&str]) -> Result<Vec<(String, String)>, CliError> {
        let pairs = self.ask(method, params)?;
        read_pairs(&pairs).ok_or_else(|| self.malformed(method))
    }

    /// The URI of a node; `None` if the master does not know the node.
    pub fn node_uri(&self, node: &str) -> Result<Option<String>, CliError> {
        let (status, _, value) = self.call_as(CALLER, "lookupNode", &[node])?;
        Ok(value.as_str().filter(|_| status == SUCCESS).map(str::to_owned))
    }

    /// The URI of a service; `None` if the master does not know the service.
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

    /// The value of a parameter, if it is set.
    pub fn param(&self, name: &str) -> Result<Option<Value>, CliError> {
        let (status, _, value) = self.call_as(CALLER, "getParam", &[name])?;
        Ok(Some(value).filter(|_| status == SUCCESS))
    }

    /// Sets a parameter.
    pub fn set_param(&self, name: &str, value: Value) -> Result<(), CliError> {
        self.change("setParam", &[CALLER.into(), name.into(), value])
    }

    /// Deletes a parameter.
    pub fn delete_param(&self, name: &str) -> Result<(), CliError> {
        self.change("deleteParam", &[CALLER.into(), name.into()])
    }

    fn change(&self, method: &str, params: &[Value]) -> Result<(), CliError> {
        match self.call_values(method, params)? {
            (SUCCESS, ..) => Ok(()),
            (_, text, _) => Err(CliError::Failed(text)),
        }
    }

    /// Removes a registration on behalf of a node. `method` is `unregisterPublisher` or similar.
    pub fn unregister(&self, node: &str, method: &str, name: &str, uri: &str) -> Result<(), CliError> {
        self.call_as(node, method, &[name, uri]).map(drop)
    }

    /// The process id of the node at `uri`.
    pub fn pid(&self, uri: &str) -> Result<i32, CliError> {
        let pid = self.ask_node(uri, "getPid", &[])?;
        pid.as_int().ok_or_else(|| malformed(uri, "getPid"))
    }

    /// The connections of the node at `uri`. Empty if it does not report them: some clients give no useful answer, or
    /// do not know the method.
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

    /// Messages of a topic that the node at `uri` dropped for slow links in this direction; `None` if it does not
    /// report them, as roscpp does not.
    pub fn dropped(&self, uri: &str, topic: &str, direction: &str) -> Option<i64> {
        dropped(&self.ask_node(uri, "getBusStats", &[]).ok()?, topic, direction)
    }

    /// Shuts down the node at `uri`. A node may end before it has answered.
    pub fn shut_down(&self, uri: &str, why: &str) -> Result<(), CliError> {
        match self.call_node(uri, "shutdown", &[why]) {
            Ok(_) | Err(NoAnswer::Closed(_)) => Ok(()),
            Err(error) => Err(error.of(uri)),
        }
    }

    /// Asks the master for the address of each name. `method` is `lookupNode` or `lookupService`. `None` for unknown
    /// names.
    ///
    /// # Errors
    /// When the master does not answer, or the context ends first.
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

    /// Asks many questions in parallel. The answers have the order of the questions.
    ///
    /// # Errors
    /// When the context ends first.
    pub fn ask_all(&self, questions: &[Question]) -> Result<Vec<Result<Value, NoAnswer>>, CliError> {
        let mut answers = Vec::with_capacity(questions.len());
        for some in questions.chunks(PARALLEL) {
            let with_caller = |question: &Question| [&[CALLER.into()], &question.params[..]].concat();
            let params: Vec<Vec<Value>> = some.iter().map(with_caller).collect();
            let asked = some.iter().zip(&params);
            let calls: Vec<_> =
                asked.map(|(question, params)| (&question.uri, question.method, &params[..])).collect();
            let answered = self.context.call_all(&calls, NODE_DEADLINE.min(self.deadline))?;
            answers.extend(answered.into_iter().map(granted));
        }
        Ok(answers)
    }

    /// Asks the master a question that it cannot refuse.
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
        let hint = format!("is it running? start one with '{MASTER}', or set ROS_MASTER_URI");
        CliError::Failed(format!("cannot reach the master at {uri}: {why} ({hint})"))
    }
}

fn malformed(server: &str, method: &str) -> CliError {
    CliError::Failed(format!("{server} gives a malformed answer to {method}"))
}

/// Why a question got no positive answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The server refused, with this text.
    Refused(String),
    /// The answer is malformed.
    Malformed,
    /// The connection closed after the call was sent.
    Closed(String),
    /// No answer in time.
    Late,
    /// The server answered with a fault: it does not know the method, or the method failed.
    Fault(String),
    /// The call could not be made.
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

/// The value of a successful answer.
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
    fn node_without_bus_info_has_no_connections() {
        let context = fake::context(Vec::new());
        let connections =
            |uri: &str| Graph::new(&context).connections(uri).map_err(|error| error.to_string());
        for value in [fake::granted(""), fake::granted(0), fake::refused("not implemented"), 7.into()] {
            assert_eq!(connections(&fake::server(vec![Some(value)])), Ok(Vec::new()));
        }
        let at = runnel::MasterOptions::at((std::net::Ipv4Addr::LOCALHOST, 0));
        let server = context.start_master(at).expect("a free port").to_string();
        assert_eq!(connections(&server), Ok(Vec::new()), "a fault: it does not know the method");
        assert!(connections(&fake::server(vec![None])).is_err(), "a closed connection is an error");
    }

    #[test]
    fn only_a_refusal_makes_a_name_unknown() {
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
