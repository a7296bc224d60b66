//! Tracer node: the line-tracing logic driven by received messages.

use super::error_log::{ERROR_PERIOD, ErrorLog};
use super::peer_warning;
use super::records::Records;
use super::{BUZZER, CMD_VEL, DEPTH, LEDS, LIGHT_SENSORS, MOTOR_POWER, Recording, SWITCHES, lock};
use crate::latency::{Direction, Log, TopicId};
use crate::signals::{Leds, Velocity};
use crate::tracer::{Command, Tracer};
use runnel::core::time::Instant;
use runnel::msgs::geometry_msgs::msg::Twist;
use runnel::msgs::raspimouse_msgs;
use runnel::msgs::std_msgs::msg::Int16;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
use runnel::{Client, Context, Error, Graphs, Node, Publisher, QoS, Subscription, Timer, steady_time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The command is repeated after this time without sensor values, so that a robot whose sensors fell silent is
/// stopped.
const REPEAT: Duration = Duration::from_millis(100);

/// Time limit of the motor service call.
const POWER: Duration = Duration::from_secs(1);

/// The tracer as a node. It runs while the context spins.
pub struct TracerNode {
    node: Node,
    tracing: Arc<Mutex<Tracing>>,
    _switches: Subscription,
    _timers: [Timer; 2],
}

impl TracerNode {
    /// Creates the node `tracer`, which waits for the first press of a switch.
    ///
    /// # Errors
    /// If the master refuses, or sockets cannot be opened.
    pub fn new(context: &Context, recording: Recording) -> Result<Self, Error> {
        let node = context.create_node("tracer")?;
        let tracing = Arc::new(Mutex::new(Tracing::new(context, &node, recording)?));
        let (sensing, pressed, repeating) =
            (Arc::clone(&tracing), Arc::clone(&tracing), Arc::clone(&tracing));
        let sensors = node.create_subscription(
            LIGHT_SENSORS,
            DEPTH,
            move |message: &raspimouse_msgs::msg::LightSensors| {
                let now = steady_time();
                lock(&sensing).handle_light_sensors(now, message);
            },
        )?;
        let switches =
            node.create_subscription(SWITCHES, DEPTH, move |message: &raspimouse_msgs::msg::Switches| {
                lock(&pressed).handle_switches(message)
            })?;
        let timers = [
            node.create_timer(REPEAT, move || lock(&repeating).repeat()),
            // The timer's callback shares the subscription.
            peer_warning::warn_without_publisher(context, &node, "light_sensors", move || {
                sensors.publisher_count()
            }),
        ];
        Ok(Self { node, tracing, _switches: switches, _timers: timers })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The records since the last call: of `light_sensors`, and of `cmd_vel` from the first message that drives.
    pub fn take_log(&self) -> Log {
        lock(&self.tracing).records.take()
    }
}

struct Tracing {
    started: Instant,
    tracer: Tracer,
    /// The last messages.
    leds: Option<Leds>,
    buzzer: i16,
    commanded: Instant,
    error_log: ErrorLog,
    /// The motor power last requested, and when.
    motor_power: (bool, Instant),
    /// Set when a request failed, so that it is repeated.
    not_powered: Arc<AtomicBool>,
    /// Whether the robot may be in ROS 2, where driving commands switch the motors on and the service is optional.
    may_have_no_service: bool,
    /// A driving command has been published.
    driven: bool,
    outputs: Outputs,
    records: Records,
    sensors_received: TopicId,
    cmd_vel_sent: TopicId,
}

struct Outputs {
    cmd_vel: Publisher<Twist>,
    leds: Publisher<raspimouse_msgs::msg::Leds>,
    buzzer: Publisher<Int16>,
    motor_power: Client<SetBool>,
}

impl Tracing {
    fn new(context: &Context, node: &Node, recording: Recording) -> Result<Self, Error> {
        let outputs = Outputs {
            cmd_vel: node.create_publisher(CMD_VEL, DEPTH)?,
            leds: node.create_publisher(LEDS, QoS::keep_last(DEPTH).transient_local())?,
            buzzer: node.create_publisher(BUZZER, DEPTH)?,
            motor_power: node.create_client(MOTOR_POWER)?,
        };
        let mut records = Records::new(recording);
        let now = steady_time();
        Ok(Self {
            started: now,
            tracer: Tracer::default(),
            leds: None,
            buzzer: 0,
            commanded: now,
            error_log: ErrorLog::default(),
            motor_power: (false, now),
            not_powered: Arc::default(),
            may_have_no_service: context.graphs() != Graphs::Ros1,
            driven: false,
            outputs,
            sensors_received: records.topic(&node.resolve(LIGHT_SENSORS)?, Direction::Received),
            cmd_vel_sent: records.topic(&node.resolve(CMD_VEL)?, Direction::Sent),
            records,
        })
    }

    fn handle_light_sensors(&mut self, now: Instant, message: &raspimouse_msgs::msg::LightSensors) {
        self.tracer.handle_light_sensors(self.seconds(now), message.into());
        self.command(now);
        self.records.received(self.sensors_received, now, message);
    }

    fn handle_switches(&mut self, message: &raspimouse_msgs::msg::Switches) {
        self.tracer.handle_switches(self.seconds(steady_time()), message.into());
    }

    fn repeat(&mut self) {
        let now = steady_time();
        if now.since(self.commanded) >= REPEAT {
            self.command(now);
        }
    }

    fn seconds(&self, now: Instant) -> f64 {
        now.since(self.started).as_secs_f64()
    }

    fn command(&mut self, now: Instant) {
        self.commanded = now;
        let command = self.tracer.command(self.seconds(now));
        if let Err(error) = self.publish(now, command) {
            self.error_log.report(now, format_args!("the tracer's commands cannot be published: {error}"));
        }
    }

    fn publish(&mut self, now: Instant, command: Command) -> Result<(), Error> {
        let twist = Twist::from(command.velocity);
        // Commands before the first driving one are all equal, so a log could not tell them apart.
        self.driven |= command.velocity != Velocity::default();
        if self.driven {
            self.records.sent(self.cmd_vel_sent, &twist);
        }
        self.outputs.cmd_vel.publish(twist)?;
        self.switch_motors(now, command.motor_power)?;
        if self.leds.replace(command.leds) != Some(command.leds) {
            self.outputs.leds.publish(raspimouse_msgs::msg::Leds::from(command.leds))?;
        }
        if std::mem::replace(&mut self.buzzer, command.buzzer) != command.buzzer {
            self.outputs.buzzer.publish(Int16 { data: command.buzzer })?;
        }
        Ok(())
    }

    /// Requests motor power on or off when that changes, and again a while after a failure.
    fn switch_motors(&mut self, now: Instant, on: bool) -> Result<(), Error> {
        let (was, asked) = self.motor_power;
        let again = now.since(asked) >= ERROR_PERIOD && self.not_powered.load(Ordering::Relaxed);
        if on == was && !again {
            return Ok(());
        }
        self.motor_power = (on, now);
        self.not_powered.store(false, Ordering::Relaxed);
        let (not_powered, quietly) = (Arc::clone(&self.not_powered), self.may_have_no_service);
        self.outputs.motor_power.call_with(&SetBoolRequest { data: on }, Some(POWER), move |result| {
            let why = match result {
                Ok(response) if response.success => return,
                Ok(response) => response.message,
                Err(_) if quietly => return not_powered.store(true, Ordering::Relaxed),
                Err(error) => error.to_string(),
            };
            log::error!("the motors cannot be switched: {why}");
            not_powered.store(true, Ordering::Relaxed);
        })
    }
}
