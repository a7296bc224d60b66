//! Tests of lifecycle nodes: callbacks, publishers, services.

use std::sync::{Arc, Mutex};

use runnel::msgs::lifecycle_msgs::msg::{Transition, TransitionEvent};
use runnel::msgs::lifecycle_msgs::srv::{
    ChangeState, ChangeStateRequest, GetAvailableTransitions, GetState, GetStateRequest,
};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{
    CallbackResult, CallbackReturn, Context, LifecycleNode, LifecycleNodeInterface, LifecycleState, Node,
};

use crate::common::{Graph, LONG, spin_until};

/// Records its callbacks. The results of each are given in advance.
#[derive(Clone, Default)]
struct Recorder {
    calls: Arc<Mutex<Vec<(&'static str, LifecycleState)>>>,
    results: Arc<Mutex<Vec<Option<CallbackReturn>>>>,
}

impl Recorder {
    /// With these results of the next callbacks; `None` is an error value. Later ones succeed.
    fn with(results: &[Option<CallbackReturn>]) -> Self {
        let results = results.iter().rev().copied().collect();
        Self { results: Arc::new(Mutex::new(results)), ..Self::default() }
    }

    fn call(&self, name: &'static str, previous: LifecycleState) -> CallbackResult {
        self.calls.lock().unwrap().push((name, previous));
        match self.results.lock().unwrap().pop() {
            None => Ok(Success),
            Some(result) => result.ok_or_else(|| "no camera".into()),
        }
    }

    fn calls(&self) -> Vec<(&'static str, LifecycleState)> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl LifecycleNodeInterface for Recorder {
    fn on_configure(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("configure", previous)
    }

    fn on_cleanup(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("cleanup", previous)
    }

    fn on_shutdown(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("shutdown", previous)
    }

    fn on_activate(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("activate", previous)
    }

    fn on_deactivate(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("deactivate", previous)
    }

    fn on_error(&mut self, _: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        self.call("error", previous)
    }
}

use CallbackReturn::{Error, Failure, Success};
use LifecycleState::{Active, Finalized, Inactive, Unconfigured};

fn lifecycle_node(interface: impl LifecycleNodeInterface) -> (Graph, Context, LifecycleNode) {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_lifecycle_node("camera", interface).unwrap();
    (graph, context, node)
}

#[test]
fn each_transition_runs_its_callback() {
    let recorder = Recorder::default();
    let (_graph, _context, node) = lifecycle_node(recorder.clone());
    assert_eq!(node.get_current_state(), Unconfigured);
    let step = |trigger: fn(&LifecycleNode) -> Result<CallbackReturn, runnel::TransitionError>| {
        assert_eq!(trigger(&node), Ok(Success));
        (recorder.calls(), node.get_current_state())
    };
    assert_eq!(step(LifecycleNode::trigger_configure), (vec![("configure", Unconfigured)], Inactive));
    assert_eq!(step(LifecycleNode::trigger_activate), (vec![("activate", Inactive)], Active));
    assert_eq!(step(LifecycleNode::trigger_deactivate), (vec![("deactivate", Active)], Inactive));
    assert_eq!(step(LifecycleNode::trigger_cleanup), (vec![("cleanup", Inactive)], Unconfigured));
    assert_eq!(step(LifecycleNode::trigger_shutdown), (vec![("shutdown", Unconfigured)], Finalized));
}

#[test]
fn unavailable_transition_is_refused() {
    let recorder = Recorder::default();
    let (_graph, _context, node) = lifecycle_node(recorder.clone());
    let refused = node.trigger_activate().unwrap_err();
    assert_eq!(refused.state, Unconfigured);
    let text =
        "node /camera: transition activate not started: the node is unconfigured. Try: configure, shutdown";
    assert_eq!(refused.to_string(), text);
    assert_eq!((recorder.calls(), node.get_current_state()), (vec![], Unconfigured));
}

#[test]
fn failed_and_erroneous_callbacks_lead_to_their_states() {
    for (results, state, calls) in [
        (vec![Some(Failure)], Unconfigured, 1),
        (vec![Some(Error), Some(Success)], Unconfigured, 2),
        (vec![None, Some(Failure)], Finalized, 2),
        (vec![None, None], Finalized, 2),
    ] {
        let recorder = Recorder::with(&results);
        let (_graph, _context, node) = lifecycle_node(recorder.clone());
        let result = node.trigger_configure().unwrap();
        assert_eq!(result, results[0].unwrap_or(Error));
        assert_eq!((recorder.calls().len(), node.get_current_state()), (calls, state), "{results:?}");
    }
}

/// Publishes during each of its callbacks, and asks for another transition.
struct Publishing(Arc<Mutex<Vec<String>>>);

impl Publishing {
    fn call(&self, node: &LifecycleNode) -> CallbackResult {
        let refused = node.trigger_shutdown().unwrap_err();
        self.0.lock().unwrap().push(format!("{} {}", node.get_current_state(), refused.state));
        Ok(Success)
    }
}

impl LifecycleNodeInterface for Publishing {
    fn on_configure(&mut self, node: &LifecycleNode, _: LifecycleState) -> CallbackResult {
        self.call(node)
    }

    fn on_activate(&mut self, node: &LifecycleNode, _: LifecycleState) -> CallbackResult {
        self.call(node)
    }
}

#[test]
fn callback_cannot_start_another_transition() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (_graph, _context, node) = lifecycle_node(Publishing(Arc::clone(&seen)));
    node.trigger_configure().unwrap();
    node.trigger_activate().unwrap();
    assert_eq!(*seen.lock().unwrap(), ["configuring configuring", "activating activating"]);
    assert_eq!(node.get_current_state(), Active);
}

#[test]
fn panicking_callback_finalizes_node() {
    struct Panicking;
    impl LifecycleNodeInterface for Panicking {
        fn on_configure(&mut self, _: &LifecycleNode, _: LifecycleState) -> CallbackResult {
            panic!("the panic of this test")
        }
    }
    let (_graph, _context, node) = lifecycle_node(Panicking);
    let trigger = std::panic::AssertUnwindSafe(|| node.trigger_configure());
    std::panic::catch_unwind(trigger).unwrap_err();
    assert_eq!(node.get_current_state(), Finalized);
}

#[test]
fn lifecycle_publisher_is_silent_while_inactive() {
    let (graph, _context, node) = lifecycle_node(Recorder::default());
    let publisher = node.create_lifecycle_publisher::<Text>("chatter", 10).unwrap();
    let listener = graph.context();
    let listening = listener.create_node("listener").unwrap();
    let texts = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&texts);
    let _chatter = listening
        .create_subscription("chatter", 10, move |text: &Text| keep.lock().unwrap().push(text.data.clone()))
        .unwrap();
    spin_until(&listener, "they are connected", || publisher.subscription_count() == 1);
    let publish = |text: &str| publisher.publish(Text { data: text.into() }).unwrap();
    publish("unconfigured");
    node.trigger_configure().unwrap();
    publish("inactive");
    node.trigger_activate().unwrap();
    assert!(publisher.is_activated());
    publish("active");
    node.trigger_deactivate().unwrap();
    publish("inactive again");
    node.trigger_activate().unwrap();
    publish("active again");
    spin_until(&listener, "both arrive", || texts.lock().unwrap().len() >= 2);
    assert_eq!(*texts.lock().unwrap(), ["active", "active again"]);
}

/// Asks the node of a spinning context.
struct Asker {
    node: Node,
    _context: Context,
}

impl Asker {
    fn new(graph: &Graph) -> Self {
        let context = graph.tool();
        Self { node: context.create_node("asker").unwrap(), _context: context }
    }

    fn change(&self, id: u8, label: &str) -> bool {
        let client = self.node.create_client::<ChangeState>("/camera/change_state").unwrap();
        let transition = Transition { id, label: label.into() };
        client.call_timeout(&ChangeStateRequest { transition }, LONG).unwrap().success
    }

    fn state(&self) -> (u8, String) {
        let client = self.node.create_client::<GetState>("/camera/get_state").unwrap();
        let state = client.call_timeout(&GetStateRequest::default(), LONG).unwrap().current_state;
        (state.id, state.label)
    }
}

#[test]
fn services_drive_node_and_events_are_published() {
    let recorder = Recorder::with(&[Some(Success), Some(Error), Some(Success)]);
    let (graph, context, _node) = lifecycle_node(recorder);
    let spinning = context.clone();
    let spinner = std::thread::spawn(move || spinning.spin().unwrap());
    let watcher = graph.tool();
    let watching = watcher.create_node("watcher").unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&events);
    let subscription = watching
        .create_subscription("/camera/transition_event", 10, move |event: &TransitionEvent| {
            assert!(event.timestamp > 1_700_000_000_000_000_000);
            keep.lock().unwrap().push((event.start_state.label.clone(), event.goal_state.label.clone()));
        })
        .unwrap();
    spin_until(&watcher, "the events are subscribed to", || subscription.publisher_count() == 1);
    let asker = Asker::new(&graph);
    assert_eq!(asker.state(), (1, "unconfigured".into()));
    assert!(!asker.change(3, ""), "it cannot be activated yet");
    assert!(!asker.change(1, "activate"), "the label counts");
    assert!(asker.change(1, ""));
    assert_eq!(asker.state(), (2, "inactive".into()));
    assert!(!asker.change(0, "activate"), "the callback reports an error");
    assert_eq!(asker.state(), (1, "unconfigured".into()));
    let expected = [
        ("unconfigured", "configuring"),
        ("configuring", "inactive"),
        ("inactive", "activating"),
        ("activating", "errorprocessing"),
        ("errorprocessing", "unconfigured"),
    ];
    spin_until(&watcher, "all events arrive", || events.lock().unwrap().len() >= expected.len());
    let seen = events.lock().unwrap();
    assert!(seen.iter().map(|(start, goal)| (start.as_str(), goal.as_str())).eq(expected), "{seen:?}");
    context.shutdown();
    spinner.join().unwrap();
}

#[test]
fn state_is_read_without_spinning() {
    let (graph, _context, _node) = lifecycle_node(Recorder::default());
    let asker = Asker::new(&graph);
    assert_eq!(asker.state(), (1, "unconfigured".into()));
    for (service, count) in [("get_available_transitions", 2), ("get_transition_graph", 25)] {
        let name = format!("/camera/{service}");
        let client = asker.node.create_client::<GetAvailableTransitions>(&name).unwrap();
        let response = client.call_timeout(&Default::default(), LONG).unwrap();
        assert_eq!(response.available_transitions.len(), count, "{service}");
    }
}

#[test]
fn dropped_node_removes_its_services() {
    let (graph, _context, node) = lifecycle_node(Recorder::default());
    let asker = Asker::new(&graph);
    let client = asker.node.create_client::<GetState>("/camera/get_state").unwrap();
    assert!(client.service_is_ready().unwrap());
    drop(node);
    assert!(!client.service_is_ready().unwrap());
}
