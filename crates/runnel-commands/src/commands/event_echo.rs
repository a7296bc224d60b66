//! Shared part of `service echo` and `action echo`: subscriptions to the events of services and the topics of actions.

use std::sync::Arc;

use runnel::core::schema::Schema;
use runnel::{Graphs, Node, QoS, Ros2Graph, Subscription, SubscriptionOptions};

use super::topic::qos::AskedQos;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::Discovery;
use crate::ros2::{EventForm, EventPrinter};
use crate::streaming::Ending;

/// Options of both commands.
#[derive(Debug, clap::Args)]
pub struct EchoOptions {
    #[command(flatten)]
    form: EventForm,

    #[command(flatten)]
    qos: AskedQos,

    /// Accepted: only ROS 2 has service introspection, and ROS 1 actions are topics, which 'runnel topic echo' prints
    #[arg(long, hide = true)]
    ros2: bool,

    #[command(flatten)]
    discovery: Discovery,
}

/// The topics that are printed.
pub struct EventEcho<'a> {
    options: &'a EchoOptions,
    printer: EventPrinter,
    pub graph: Ros2Graph,
    pub node: Node,
    ending: Ending,
    subscriptions: Vec<Subscription>,
}

impl EchoOptions {
    /// Discovers the ROS 2 graph, for a node with `name` in its own name.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn open(&self, cli: &CliContext, name: &str) -> Result<EventEcho<'_>, CliError> {
        let context = cli.running_context_in(Graphs::Ros2)?;
        let graph = self.discovery.discover(cli, &context)?;
        let node = cli.node(&context, name)?;
        let (printer, ending) = (self.form.printer(cli.output), Ending::of(&context));
        Ok(EventEcho { options: self, printer, graph, node, ending, subscriptions: Vec::new() })
    }
}

impl EventEcho<'_> {
    /// Prints the messages of a topic. `interface` names the part of an action that it belongs to, and `default` is the
    /// quality of service without options. Returns the number of matched publishers.
    ///
    /// # Errors
    /// When the topic cannot be subscribed to.
    pub fn add(
        &mut self,
        topic: &str,
        schema: &Arc<Schema>,
        default: QoS,
        interface: Option<&'static str>,
    ) -> Result<usize, CliError> {
        let options = SubscriptionOptions::from(self.options.qos.over(default)).strict_qos();
        let (ending, printer) = (self.ending.clone(), self.printer);
        let print = move |message: &_| ending.check(printer.print(interface, message));
        let subscription = self.node.create_dynamic_subscription(topic, schema, options, print)?;
        let count = subscription.publisher_count();
        self.subscriptions.push(subscription);
        Ok(count)
    }

    /// Prints until the program is interrupted, or the output ends.
    ///
    /// # Errors
    /// When the output fails.
    pub fn run(self) -> Result<(), CliError> {
        self.ending.wait()
    }
}
