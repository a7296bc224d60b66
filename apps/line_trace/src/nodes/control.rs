//! Control node: runs the robot in real time.

use super::error_log::ErrorLog;
use super::peer_warning;
use super::priority::Priority;
use super::records::Records;
use super::{
    BUZZER, CMD_VEL, DEPTH, LEDS, LIGHT_SENSORS, MOTOR_POWER, ODOM, Recording, SWITCHES, TF, TRACER, lock,
};
use crate::body::Body;
use crate::geometry::Pose;
use crate::latency::{Direction, Log, TopicId};
use crate::signals::{LightSensors, Switches, Velocity};
use runnel::core::time::Instant;
use runnel::msgs::geometry_msgs::msg::{Transform, TransformStamped, Twist, Vector3};
use runnel::msgs::nav_msgs::msg::Odometry;
use runnel::msgs::raspimouse_msgs;
use runnel::msgs::std_msgs::msg::{Header, Int16};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::msgs::tf2_msgs::msg::TFMessage;
use runnel::{
    Borrowed, Context, Error, Graphs, Node, Publisher, QoS, ServiceServer, Subscription, Time, Timer,
};
use runnel_io::clock;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Period of sensor readings: 60 per second.
const TICK: Duration = Duration::from_nanos(16_666_667);
/// Ticks between two messages of `switches`: the real robot's driver takes milliseconds to read them.
const SWITCHES_EVERY: u32 = 6;
/// Ticks between two messages of `odom` and of `tf`.
const ODOM_EVERY: u32 = 3;
/// Power that a driving command has switched on goes off when commands have been zero for this long.
const POWER_OFF: Duration = Duration::from_secs(1);

/// The robot as a node. It runs while the context spins, on the monotonic clock.
///
/// A simulated robot's operator begins as soon as a tracer publishes LEDs and subscribes to the switches. The service
/// `motor_power` switches the motors. In ROS 2 a tracer need not call it: until the first call, a driving command
/// switches the motors on, and a second of zero commands switches them off.
///
/// A simulated robot prefers the commands of any other publisher of `cmd_vel` to the tracer's. The tracer regains
/// control when that publisher has been silent for half a second.
pub struct ControlNode {
    node: Node,
    control: Arc<Mutex<Control>>,
    _subscriptions: [Subscription; 2],
    _motor_power: ServiceServer,
    _timers: [Timer; 2],
}

impl ControlNode {
    /// Creates the node `control` of a robot with this body.
    ///
    /// # Errors
    /// If the master refuses, or sockets cannot be opened.
    pub fn new(context: &Context, body: impl Body + 'static, recording: Recording) -> Result<Self, Error> {
        let node = context.create_node("control")?;
        let control = Arc::new(Mutex::new(Control::new(&node, Box::new(body), recording)?));
        let commands = subscribe_to_commands(&node, &control)?;
        let subscriptions = [
            subscribe(&node, LEDS, &control, Control::handle_leds)?,
            subscribe(&node, BUZZER, &control, Control::handle_buzzer)?,
        ];
        let powered = Arc::clone(&control);
        let motor_power = node.create_service::<SetBool, Infallible>(MOTOR_POWER, move |request| {
            Ok(lock(&powered).handle_motor_power(clock::monotonic(), request.data))
        })?;
        lock(&control).is_powered_by_driving = context.graphs() != Graphs::Ros1;
        let ticking = Arc::clone(&control);
        let timers = [
            node.create_timer(TICK, move || lock(&ticking).tick()),
            // The timer's callback shares the subscription.
            peer_warning::warn_without_publisher(context, &node, "cmd_vel", move || {
                commands.publisher_count()
            }),
        ];
        Ok(Self { node, control, _subscriptions: subscriptions, _motor_power: motor_power, _timers: timers })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The records since the last call: of `light_sensors`, and of `cmd_vel` from the first message that drives.
    pub fn take_log(&self) -> Log {
        lock(&self.control).records.take()
    }
}

/// Subscribes to commands together with their publisher.
fn subscribe_to_commands(node: &Node, control: &Arc<Mutex<Control>>) -> Result<Subscription, Error> {
    let control = Arc::clone(control);
    node.create_borrowing_subscription(CMD_VEL, DEPTH, move |message: Borrowed<Twist>| {
        let now = clock::monotonic();
        if let Ok(command) = message.view() {
            lock(&control).handle_cmd_vel(now, message.publisher(), &command);
        }
    })
}

fn subscribe<M: runnel::core::Message>(
    node: &Node,
    topic: &str,
    control: &Arc<Mutex<Control>>,
    handle: fn(&mut Control, Instant, &M),
) -> Result<Subscription, Error> {
    let control = Arc::clone(control);
    // The tracer may have published its LEDs earlier; in ROS 2 the kept message must be requested.
    let qos = if topic == LEDS { QoS::keep_last(DEPTH).transient_local() } else { QoS::keep_last(DEPTH) };
    node.create_subscription(topic, qos, move |message: &M| {
        let now = clock::monotonic();
        handle(&mut lock(&control), now, message);
    })
}

struct Control {
    started: Instant,
    started_at: Time,
    ticks: u32,
    body: Box<dyn Body>,
    /// Time that the body has been advanced to, seconds since the start.
    advanced_to: f64,
    error_log: ErrorLog,
    tracer_shows_leds: bool,
    /// A driving `cmd_vel` of the tracer has been received.
    driven: bool,
    /// Driving commands switch the motors on, because the service has not been called yet. ROS 2 only.
    is_powered_by_driving: bool,
    /// Whether the motors have power, or regain it with the tracer's control.
    motor_power: bool,
    /// When the last driving command was received.
    last_driving_command: Instant,
    /// Arbitrates between publishers for a simulated robot; `None` for a real one, which obeys all.
    priority: Option<Priority>,
    outputs: Outputs,
    records: Records,
    sensors_sent: TopicId,
    cmd_vel_received: TopicId,
}

struct Outputs {
    light_sensors: Publisher<raspimouse_msgs::msg::LightSensors>,
    switches: Publisher<raspimouse_msgs::msg::Switches>,
    /// Only for a simulated robot, whose pose is known.
    odom: Option<(Publisher<Odometry>, Publisher<TFMessage>)>,
}

impl Control {
    fn new(node: &Node, body: Box<dyn Body>, recording: Recording) -> Result<Self, Error> {
        let is_simulated = body.ground_truth().is_some();
        let odom = if is_simulated {
            Some((node.create_publisher(ODOM, DEPTH)?, node.create_publisher(TF, DEPTH)?))
        } else {
            None
        };
        let priority = is_simulated.then(|| node.resolve(TRACER).map(Priority::new)).transpose()?;
        let outputs = Outputs {
            light_sensors: node.create_publisher(LIGHT_SENSORS, DEPTH)?,
            switches: node.create_publisher(SWITCHES, DEPTH)?,
            odom,
        };
        let mut records = Records::new(recording);
        Ok(Self {
            started: clock::monotonic(),
            started_at: clock::realtime(),
            ticks: 0,
            body,
            advanced_to: 0.0,
            error_log: ErrorLog::default(),
            tracer_shows_leds: false,
            driven: false,
            is_powered_by_driving: false,
            motor_power: false,
            last_driving_command: clock::monotonic(),
            priority,
            outputs,
            sensors_sent: records.topic(&node.resolve(LIGHT_SENSORS)?, Direction::Sent),
            cmd_vel_received: records.topic(&node.resolve(CMD_VEL)?, Direction::Received),
            records,
        })
    }

    /// Advances the robot to the current time, and publishes what is due.
    fn tick(&mut self) {
        let now = clock::monotonic();
        self.advance_to(now);
        self.update_motor_power(now);
        if self.tracer_shows_leds && self.outputs.switches.subscription_count() > 0 {
            self.body.on_tracer_connected();
        }
        let sensors = self.body.light_sensors();
        let switches = self.ticks.is_multiple_of(SWITCHES_EVERY).then(|| self.body.switches()).transpose();
        let read = sensors.and_then(|sensors| Ok((sensors, switches?)));
        if let Some((sensors, switches)) = self.checked(read)
            && let Err(error) = self.publish(sensors, switches)
        {
            let what = format_args!("the robot's sensors cannot be published: {error}");
            self.error_log.report(clock::monotonic(), what);
        }
        self.ticks = self.ticks.wrapping_add(1);
    }

    fn advance_to(&mut self, now: Instant) {
        self.advanced_to = now.since(self.started).as_secs_f64();
        let result = self.body.advance_to(self.advanced_to);
        self.checked(result);
    }

    /// The body's result; an error is logged, rate-limited.
    fn checked<T>(&mut self, result: io::Result<T>) -> Option<T> {
        let error = match result {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        self.error_log.report(clock::monotonic(), format_args!("robot failed: {error}"));
        None
    }

    fn publish(&mut self, sensors: LightSensors, switches: Option<Switches>) -> Result<(), Error> {
        let sensors = raspimouse_msgs::msg::LightSensors::from(sensors);
        self.records.sent(self.sensors_sent, &sensors);
        self.outputs.light_sensors.publish(sensors)?;
        if let Some(switches) = switches {
            self.outputs.switches.publish(raspimouse_msgs::msg::Switches::from(switches))?;
        }
        if let (Some((odom, tf)), Some((pose, velocity))) = (&self.outputs.odom, self.body.ground_truth())
            && self.ticks.is_multiple_of(ODOM_EVERY)
        {
            let odometry = self.odometry(pose, velocity);
            tf.publish(transform(&odometry))?;
            odom.publish(odometry)?;
        }
        Ok(())
    }

    fn odometry(&self, pose: Pose, velocity: Velocity) -> Odometry {
        let advanced_to = Duration::from_secs_f64(self.advanced_to);
        let header = Header {
            stamp: self.started_at + advanced_to.into(),
            frame_id: "odom".into(),
            ..Header::default()
        };
        let mut odometry =
            Odometry { header, child_frame_id: "base_footprint".into(), ..Odometry::default() };
        odometry.pose.pose = pose.into();
        odometry.twist.twist = velocity.into();
        odometry
    }

    fn handle_cmd_vel(&mut self, now: Instant, publisher: &str, message: &Twist) {
        let velocity = Velocity::from(message);
        let drives = velocity != Velocity::default();
        self.advance_to(now);
        let priority = self.priority.as_mut();
        if let Some(priority) = priority.filter(|priority| !priority.is_tracer(publisher)) {
            if priority.take_over(now) {
                self.power_body(true);
            }
        } else {
            self.record_command(now, drives, message);
            if self.priority.as_ref().is_some_and(Priority::is_taken_over) {
                return;
            }
            if drives && self.is_powered_by_driving {
                self.last_driving_command = now;
                if !self.motor_power {
                    self.set_motor_power(true);
                }
            }
        }
        let result = self.body.set_velocity(velocity);
        self.checked(result);
    }

    /// Records commands of the tracer from the first driving one: those before are all equal, so a log could not tell
    /// them apart.
    fn record_command(&mut self, now: Instant, drives: bool, message: &Twist) {
        self.driven |= drives;
        if self.driven {
            self.records.received(self.cmd_vel_received, now, message);
        }
    }

    fn handle_motor_power(&mut self, now: Instant, on: bool) -> SetBoolResponse {
        self.is_powered_by_driving = false;
        self.advance_to(now);
        let refusal = self.set_motor_power(on);
        let success = refusal.is_none();
        SetBoolResponse {
            success,
            message: refusal.unwrap_or_else(|| if on { "ON" } else { "OFF" }.to_owned()),
        }
    }

    /// Switches the motors for the tracer: now, or when it regains control. Returns the reason of a failure.
    fn set_motor_power(&mut self, on: bool) -> Option<String> {
        self.motor_power = on;
        if self.priority.as_ref().is_some_and(Priority::is_taken_over) {
            return None;
        }
        self.power_body(on)
    }

    fn power_body(&mut self, on: bool) -> Option<String> {
        let result = self.body.set_motor_power(on);
        let why = result.as_ref().err().map(io::Error::to_string);
        self.checked(result);
        why
    }

    /// Returns control to the tracer when the other publisher is silent. Switches motors off that a driving command has
    /// switched on, once the robot stands.
    fn update_motor_power(&mut self, now: Instant) {
        let stands = self.is_powered_by_driving && now.since(self.last_driving_command) >= POWER_OFF;
        if stands && self.motor_power {
            self.set_motor_power(false);
        }
        if self.priority.as_mut().is_some_and(|priority| priority.release(now)) {
            self.power_body(self.motor_power);
        }
    }

    fn handle_leds(&mut self, now: Instant, message: &raspimouse_msgs::msg::Leds) {
        self.advance_to(now);
        let result = self.body.set_leds(message.into());
        self.checked(result);
        self.tracer_shows_leds = true;
    }

    fn handle_buzzer(&mut self, now: Instant, message: &Int16) {
        self.advance_to(now);
        let result = self.body.set_buzzer(message.data);
        self.checked(result);
    }
}

/// The transform between the frames of an odometry message.
fn transform(odometry: &Odometry) -> TFMessage {
    let pose = &odometry.pose.pose;
    let translation = Vector3 { x: pose.position.x, y: pose.position.y, z: pose.position.z };
    let transform = TransformStamped {
        header: odometry.header.clone(),
        child_frame_id: odometry.child_frame_id.clone(),
        transform: Transform { translation, rotation: pose.orientation },
    };
    TFMessage { transforms: vec![transform] }
}
