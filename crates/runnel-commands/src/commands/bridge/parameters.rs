//! Parameters of ROS 2 nodes that a bridge also keeps at the ROS 1 master, below the name of the node.
//!
//! Each node has a thread, because the master and the node may take time to answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel::{Node, Parameter, ParameterClient, ParameterValue};

use super::parameter_state::{Change, ParameterState, flatten};
use super::report::{ParameterRow, State};
use super::resources::Resources;
use crate::streaming::lock;

/// How long a node may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How often the parameters of a node are read, also if it has reported no change.
const PERIOD: Duration = Duration::from_secs(5);

/// How often a node is looked for.
const SEARCH_PERIOD: Duration = Duration::from_millis(500);

/// Most remarks of one node.
const MOST_REMARKS: usize = 16;

/// See the module's documentation.
#[derive(Default)]
pub struct Parameters(Vec<NodeThread>);

struct NodeThread {
    row: Arc<Mutex<ParameterRow>>,
    events: Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

enum Event {
    /// The node reports changes.
    NodeChanged,
    /// The master reports a parameter, by its absolute name.
    Master(String, Option<ParameterValue>),
    /// The bridge ends.
    End,
}

impl Parameters {
    /// Begins to carry the parameters of these nodes.
    pub fn new(resources: &Resources<'_>, nodes: &[String]) -> Self {
        let begin = |name: &String| NodeThread::new(name, [&resources.ros1, &resources.ros2]);
        Self(nodes.iter().map(begin).collect())
    }

    /// The report.
    pub fn rows(&self) -> Vec<ParameterRow> {
        self.0.iter().map(|node| lock(&node.row).clone()).collect()
    }

    /// Ends all. The master forgets the parameters.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl NodeThread {
    fn new(name: &str, [ros1, ros2]: [&Node; 2]) -> Self {
        let row = ParameterRow {
            node: name.to_owned(),
            state: State::Connecting,
            parameters: 0,
            remarks: Vec::new(),
        };
        let row = Arc::new(Mutex::new(row));
        let (events, received) = channel();
        let (ros1, ros2) = (ros1.clone(), ros2.clone());
        let (shared, sender) = (Arc::clone(&row), events.clone());
        let name = name.to_owned();
        let work = move || match Worker::new(&name, &ros1, &ros2, (&shared, sender)) {
            Ok(mut worker) => worker.work(&received),
            Err(error) => lock(&shared).state = State::Refused(error.to_string()),
        };
        Self { row, events, thread: Some(thread::spawn(work)) }
    }
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        // A thread that has failed does not receive.
        let _ = self.events.send(Event::End);
        self.thread.take().map(JoinHandle::join);
    }
}

struct Worker<'a> {
    name: &'a str,
    ros1: &'a Node,
    client: ParameterClient,
    events: Sender<Event>,
    row: &'a Mutex<ParameterRow>,
    state: ParameterState,
}

impl<'a> Worker<'a> {
    fn new(
        name: &'a str,
        ros1: &'a Node,
        ros2: &Node,
        (row, events): (&'a Mutex<ParameterRow>, Sender<Event>),
    ) -> Result<Self, runnel::Error> {
        let client = ros2.create_parameter_client(name)?.timeout(TIMEOUT);
        Ok(Self { name, ros1, client, events, row, state: ParameterState::default() })
    }

    /// Works until the bridge ends.
    fn work(&mut self, received: &Receiver<Event>) {
        let changed = self.events.clone();
        let event_subscription = self.client.on_parameter_event(move |_| {
            // The thread may have ended.
            let _ = changed.send(Event::NodeChanged);
        });
        if let Err(error) = &event_subscription {
            self.remark(error.to_string());
        }
        let mut watch = None;
        let mut next = Instant::now();
        loop {
            match received.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Master(key, value)) => self.on_master(&key, value),
                Ok(Event::NodeChanged) | Err(RecvTimeoutError::Timeout) => {
                    let is_found = self.read_node();
                    next = Instant::now() + if is_found { PERIOD } else { SEARCH_PERIOD };
                    if is_found && watch.is_none() {
                        watch = self.watch();
                    }
                }
            }
        }
        drop(watch);
        self.forget();
    }

    /// Receives changes at the master.
    fn watch(&self) -> Option<runnel::ParamWatch> {
        let events = self.events.clone();
        let watch = self.ros1.watch_param(self.name, move |key: &str, value: Option<&ParameterValue>| {
            // The thread may have ended.
            let _ = events.send(Event::Master(key.to_owned(), value.cloned()));
        });
        watch.map_err(|error| self.remark(error.to_string())).ok()
    }

    /// Reads the node's parameters, and makes the changes at the master. False if the node does not answer.
    fn read_node(&mut self) -> bool {
        let Some(values) = self.node_values() else {
            self.forget();
            lock(self.row).state = State::Connecting;
            return false;
        };
        // A master that was started again knows nothing.
        if self.state.count() > 0 && matches!(self.ros1.has_param(self.name), Ok(false)) {
            self.state.clear();
        }
        for change in self.state.on_node(values) {
            self.change_master(change);
        }
        let mut row = lock(self.row);
        (row.state, row.parameters) = (State::Carried, self.state.count() as u64);
        true
    }

    fn node_values(&self) -> Option<BTreeMap<String, ParameterValue>> {
        if !self.client.wait_for_services(Duration::ZERO).ok()? {
            return None;
        }
        let names = self.client.list_parameters(&[], 0).ok()?.names;
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let values = self.client.get_parameters(&listed).ok()?;
        Some(names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect())
    }

    fn change_master(&mut self, change: Change) {
        let changed = match change {
            Change::Set(name, value) => {
                self.state.expect(&name, &value, Instant::now());
                self.ros1.set_param(&self.key(&name), value)
            }
            Change::Delete(name) => self.ros1.delete_param(&self.key(&name)).map(drop),
        };
        if let Err(error) = changed {
            self.remark(error.to_string());
        }
    }

    /// The master reports a parameter, or the namespace of the node.
    fn on_master(&mut self, key: &str, value: Option<ParameterValue>) {
        let rest = key.trim_end_matches('/').strip_prefix(self.name).unwrap_or_default();
        let name = rest.trim_start_matches('/').replace('/', ".");
        // ROS 2 nodes decide which of their parameters exist.
        let Some(value) = value else { return };
        let mut reported = Vec::new();
        flatten(&name, value, &mut reported);
        for (name, value) in reported {
            if let Some(Change::Set(name, value)) = self.state.on_master(&name, value, Instant::now()) {
                self.change_node(&name, value);
            }
        }
    }

    /// Sets a parameter of the node. If the node refuses, the master gets the former value again.
    fn change_node(&mut self, name: &str, value: ParameterValue) {
        let set = self.client.set_parameters(&[Parameter::new(name, value.clone())]);
        let why = match set.map(|mut results| results.pop()) {
            Ok(Some(Ok(()))) => return self.state.accepted(name, value),
            Ok(Some(Err(error))) => error.to_string(),
            Ok(None) => "the node has not answered".to_owned(),
            Err(error) => error.to_string(),
        };
        self.remark(format!("parameter {name}: {why}"));
        if let Some(former) = self.state.value(name).cloned() {
            self.change_master(Change::Set(name.to_owned(), former));
        }
    }

    /// The node is gone, and so are its parameters.
    fn forget(&mut self) {
        let names = self.state.clear();
        for name in &names {
            self.change_master(Change::Delete(name.clone()));
        }
        self.delete_empty_namespaces(&names);
        lock(self.row).parameters = 0;
    }

    /// Deletes the namespaces of these parameters at the master, the inner ones first, unless other nodes use them.
    fn delete_empty_namespaces(&self, names: &[String]) {
        let namespaces = names.iter().flat_map(|name| name.match_indices('.').map(|(at, _)| &name[..at]));
        let namespaces: BTreeSet<String> = namespaces.map(|namespace| self.key(namespace)).collect();
        let own = (!names.is_empty()).then(|| self.name.to_owned());
        for namespace in namespaces.into_iter().rev().chain(own) {
            let value = self.ros1.get_param::<ParameterValue>(&namespace);
            if matches!(value, Ok(Some(ParameterValue::Map(members))) if members.is_empty()) {
                // A master that has ended has forgotten them.
                let _ = self.ros1.delete_param(&namespace);
            }
        }
    }

    /// The name at the master.
    fn key(&self, name: &str) -> String {
        format!("{}/{}", self.name, name.replace('.', "/"))
    }

    fn remark(&self, remark: String) {
        let remarks = &mut lock(self.row).remarks;
        if remarks.len() < MOST_REMARKS && !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
}
