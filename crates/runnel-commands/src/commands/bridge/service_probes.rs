//! Types of ROS 1 services, which only their providers know. A thread of its own asks, because a provider may not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use runnel::Node;
use runnel_bridge::AnnouncedServer;

use crate::streaming::lock;

/// How long a provider may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How often a provider is asked again: it may have ended without telling the master, or its type may have changed.
const PERIOD: Duration = Duration::from_secs(5);

/// The type of a service, or why it is not known.
pub type Answer = Result<AnnouncedServer, String>;

/// See the module's documentation.
pub struct ServiceProbes {
    services: Arc<Mutex<BTreeMap<String, Probe>>>,
    questions: Sender<String>,
}

#[derive(Debug)]
struct Probe {
    /// The nodes that provide the service according to the master.
    nodes: Vec<String>,
    answer: Option<Answer>,
    /// When the provider was asked last.
    asked: Instant,
    is_queued: bool,
}

impl ServiceProbes {
    pub fn new(node: Node) -> Self {
        let services = Arc::default();
        let (questions, receiver) = channel();
        let shared = Arc::clone(&services);
        thread::spawn(move || ask_providers(&node, &receiver, &shared));
        Self { services, questions }
    }

    /// The last answer of the provider of a service, which these nodes provide. `None` until it has answered.
    pub fn answer(&self, service: &str, nodes: &[String]) -> Option<Answer> {
        let mut services = lock(&self.services);
        let probe = services.entry(service.to_owned()).or_insert_with(|| Probe::new(nodes));
        if probe.nodes != nodes {
            *probe = Probe::new(nodes);
        }
        let is_due = probe.answer.is_none() || probe.asked.elapsed() >= PERIOD;
        if is_due && !std::mem::replace(&mut probe.is_queued, true) {
            // The thread ends only with this process.
            let _ = self.questions.send(service.to_owned());
        }
        probe.answer.clone()
    }

    /// Forgets all other services.
    pub fn retain(&self, services: &BTreeSet<&str>) {
        lock(&self.services).retain(|service, _| services.contains(service.as_str()));
    }
}

impl Probe {
    fn new(nodes: &[String]) -> Self {
        Self { nodes: nodes.to_vec(), answer: None, asked: Instant::now(), is_queued: false }
    }
}

fn ask_providers(node: &Node, questions: &Receiver<String>, services: &Mutex<BTreeMap<String, Probe>>) {
    while let Ok(service) = questions.recv() {
        let Some(nodes) = lock(services).get(&service).map(|probe| probe.nodes.clone()) else { continue };
        let answer = match node.service_info(&service, TIMEOUT) {
            Ok(info) => Ok(AnnouncedServer { name: info.type_name, sums: vec![info.md5] }),
            Err(error) => Err(error.to_string()),
        };
        // Meanwhile another node may provide it, which is asked then.
        if let Some(probe) = lock(services).get_mut(&service) {
            probe.is_queued = false;
            if probe.nodes == nodes {
                (probe.answer, probe.asked) = (Some(answer), Instant::now());
            }
        }
    }
}
