//! What the parameters of a node have in ROS 2: `use_sim_time`, and events of changes on `/parameter_events`.

use std::sync::{Arc, Weak};

use runnel_core::qos::QoS;
use runnel_msgs::rcl_interfaces::msg::{ParameterDescriptor, ParameterEvent, ParameterType};

use crate::data::outgoing::typed;
use crate::error::Error;
use crate::node::NodeInner;
use crate::parameters::parameter_value::ParameterValue;
use crate::parameters::{Change, PARAMETER_EVENTS, Parameter, event_message};
use crate::time::ros_clock::USE_SIM_TIME_ROS2;
use crate::types::announced::Topic;

impl NodeInner {
    /// Starts what the node's options name: events and services of its parameters.
    ///
    /// # Errors
    /// If a service or topic cannot be created.
    pub(crate) fn start_parameters_in_ros2(self: &Arc<Self>) -> Result<(), Error> {
        if self.options.start_parameter_event_publisher {
            self.publish_parameter_events()?;
        }
        if self.options.start_parameter_services {
            self.start_parameter_services()?;
        }
        Ok(())
    }

    /// Declares `use_sim_time`, unless it is declared. The node follows simulated time while it is true.
    ///
    /// # Errors
    /// If the arguments give it a value that is no boolean.
    pub(crate) fn declare_sim_time(self: &Arc<Self>) -> Result<(), Error> {
        let parameters = self.parameters();
        if parameters.has(USE_SIM_TIME_ROS2) {
            return Ok(());
        }
        if self.context.shared.sim_time && self.options.sim_time {
            let node = Arc::downgrade(self);
            parameters.add_observer(Arc::new(move |change| follow_sim_time(&node, change)));
        }
        let descriptor = ParameterDescriptor {
            name: USE_SIM_TIME_ROS2.to_owned(),
            type_: ParameterType::PARAMETER_BOOL,
            description: "Whether the node follows the simulated time on /clock".to_owned(),
            ..ParameterDescriptor::default()
        };
        parameters.declare(descriptor, Some(false.into()), false, None)?;
        Ok(())
    }

    /// Publishes an event for every change of parameters from now on, in each graph of the node, as its subscriptions
    /// exist in each.
    ///
    /// # Errors
    /// If the topic cannot be published.
    fn publish_parameter_events(self: &Arc<Self>) -> Result<(), Error> {
        let (shared, qos) = (&self.context.shared, QoS::parameter_events());
        let (reactor, pool) = (Arc::clone(&shared.reactor), Arc::clone(&shared.pool));
        let topic = Topic::of::<ParameterEvent>(PARAMETER_EVENTS.to_owned());
        let publication = topic.publication(reactor, pool, self.full_name(), qos);
        let group = publication.writer_group(qos, &Arc::default());
        self.driver().add_publication(self.key, &topic, &group, &publication)?;
        let (node, clock) = (self.full_name().to_owned(), Arc::clone(&shared.clock));
        self.parameters().add_observer(Arc::new(move |change| {
            if let Some(event) = event_message(&node, clock.now(), change) {
                // An event that is too long to send is dropped.
                drop(publication.publish(typed(event), &group));
            }
        }));
        Ok(())
    }
}

/// Follows simulated time, or stops to, after a change of the parameter. A declaration with `false` changes nothing: in a
/// node of both graphs the master's parameter may have enabled simulated time.
fn follow_sim_time(node: &Weak<NodeInner>, change: &Change) {
    let value = |parameters: &[Parameter]| {
        let of_time = parameters.iter().find(|parameter| parameter.name == USE_SIM_TIME_ROS2);
        of_time.and_then(|parameter| parameter.value.clone())
    };
    let declared = value(&change.new).filter(|value| *value == ParameterValue::Bool(true));
    let Some(ParameterValue::Bool(simulated)) = value(&change.changed).or(declared) else { return };
    if let Some(node) = node.upgrade() {
        node.driver().follow_clock(node.key, simulated);
    }
}
