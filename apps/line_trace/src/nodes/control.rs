//! The control node: the simulated robot in real time, with the person who presses its switches.

use super::records::Records;
use super::{BUZZER, CMD_VEL, DEPTH, LEDS, LIGHT_SENSORS, MOTOR_POWER, ODOM, SWITCHES, lock};
use crate::geometry::Pose;
use crate::latency::{Direction, Log, TopicId};
use crate::operator::Operator;
use crate::robot::Robot;
use crate::signals::{Switches, Velocity};
use crate::track::Track;
use runnel::core::time::Instant;
use runnel::io::clock;
use runnel::msgs::geometry_msgs::Twist;
use runnel::msgs::nav_msgs::Odometry;
use runnel::msgs::raspimouse_msgs;
use runnel::msgs::std_msgs::{Header, Int16};
use runnel::msgs::std_srvs::{SetBool, SetBoolResponse};
use runnel::{Context, Error, Node, Publisher, ServiceServer, Subscription, Time, Timer};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Between two readings of the sensors.
const TICK: Duration = Duration::from_millis(10);
/// Ticks between two messages of `/switches` while none changes.
const SWITCHES_EVERY: u32 = 10;
/// Ticks between two messages of `/odom`.
const ODOM_EVERY: u32 = 5;

/// The robot as a node. It lives while the context spins, by the monotonic clock.
///
/// The person begins as soon as a tracer shows its lamps and listens to the switches. The motors get power by the service
/// `/motor_power`.
pub struct ControlNode {
    control: Arc<Mutex<Control>>,
    _subscriptions: [Subscription; 3],
    _motor_power: ServiceServer,
    _timer: Timer,
}

impl ControlNode {
    /// Makes the node `control`, with its robot on this track. The seed decides how the robot's sensors are, and how
    /// exactly it is set down.
    ///
    /// # Errors
    /// When the master refuses, or sockets cannot be opened.
    pub fn new(context: &Context, track: Track, seed: u64) -> Result<Self, Error> {
        let node = context.create_node("control")?;
        let control = Arc::new(Mutex::new(Control::new(&node, track, seed)?));
        let subscriptions = [
            subscribe(&node, CMD_VEL, &control, Control::handle_cmd_vel)?,
            subscribe(&node, LEDS, &control, Control::handle_leds)?,
            subscribe(&node, BUZZER, &control, Control::handle_buzzer)?,
        ];
        let powered = Arc::clone(&control);
        let motor_power = node.create_service::<SetBool, Infallible>(MOTOR_POWER, move |request| {
            Ok(lock(&powered).handle_motor_power(clock::monotonic(), request.data))
        })?;
        let ticking = Arc::clone(&control);
        let timer = node.create_timer(TICK, move || lock(&ticking).tick());
        Ok(Self { control, _subscriptions: subscriptions, _motor_power: motor_power, _timer: timer })
    }

    /// When the messages of `/light_sensors` and, from the first that drives, `/cmd_vel` passed.
    pub fn log(&self) -> Log {
        lock(&self.control).records.log()
    }
}

fn subscribe<M: runnel::core::Message>(
    node: &Node,
    topic: &str,
    control: &Arc<Mutex<Control>>,
    handle: fn(&mut Control, Instant, &M),
) -> Result<Subscription, Error> {
    let control = Arc::clone(control);
    node.create_subscription(topic, DEPTH, move |message: &M| {
        let now = clock::monotonic();
        handle(&mut lock(&control), now, message);
    })
}

struct Control {
    started: Instant,
    started_at: Time,
    ticks: u32,
    track: Track,
    robot: Robot,
    operator: Operator,
    /// What the last `/switches` said.
    switches: Option<Switches>,
    tracer_shows_lamps: bool,
    /// A `/cmd_vel` that drives has come.
    driven: bool,
    outputs: Outputs,
    records: Records,
    sensors_sent: TopicId,
    cmd_vel_received: TopicId,
}

struct Outputs {
    light_sensors: Publisher<raspimouse_msgs::LightSensors>,
    switches: Publisher<raspimouse_msgs::Switches>,
    odom: Publisher<Odometry>,
}

impl Control {
    fn new(node: &Node, track: Track, seed: u64) -> Result<Self, Error> {
        let outputs = Outputs {
            light_sensors: node.create_publisher(LIGHT_SENSORS, DEPTH)?,
            switches: node.create_publisher(SWITCHES, DEPTH)?,
            odom: node.create_publisher(ODOM, DEPTH)?,
        };
        let mut records = Records::new();
        Ok(Self {
            started: clock::monotonic(),
            started_at: clock::realtime(),
            ticks: 0,
            robot: Robot::new(Pose::default(), seed),
            operator: Operator::new(&track, seed),
            track,
            switches: None,
            tracer_shows_lamps: false,
            driven: false,
            outputs,
            sensors_sent: records.topic(LIGHT_SENSORS, Direction::Sent),
            cmd_vel_received: records.topic(CMD_VEL, Direction::Received),
            records,
        })
    }

    /// Lets the robot catch up with the clock, and publishes what is due.
    fn tick(&mut self) {
        self.advance_to(clock::monotonic());
        if self.tracer_shows_lamps && self.outputs.switches.subscription_count() > 0 {
            self.operator.attend(&mut self.robot);
        }
        if let Err(error) = self.publish() {
            log::error!("the robot's sensors cannot be published: {error}");
        }
        self.ticks = self.ticks.wrapping_add(1);
    }

    fn advance_to(&mut self, now: Instant) {
        self.robot.advance_to(now.since(self.started).as_secs_f64());
    }

    fn publish(&mut self) -> Result<(), Error> {
        let sensors = raspimouse_msgs::LightSensors::from(self.robot.light_sensors(&self.track));
        self.records.sent(self.sensors_sent, &sensors);
        self.outputs.light_sensors.publish(sensors)?;
        let switches = self.robot.switches();
        if self.ticks.is_multiple_of(SWITCHES_EVERY) || self.switches != Some(switches) {
            self.switches = Some(switches);
            self.outputs.switches.publish(raspimouse_msgs::Switches::from(switches))?;
        }
        if self.ticks.is_multiple_of(ODOM_EVERY) {
            self.outputs.odom.publish(self.odometry())?;
        }
        Ok(())
    }

    fn odometry(&self) -> Odometry {
        let lived = Duration::from_secs_f64(self.robot.now());
        let header =
            Header { stamp: self.started_at + lived.into(), frame_id: "odom".into(), ..Header::default() };
        let mut odometry =
            Odometry { header, child_frame_id: "base_footprint".into(), ..Odometry::default() };
        odometry.pose.pose = self.robot.pose().into();
        odometry.twist.twist = self.robot.velocity().into();
        odometry
    }

    fn handle_cmd_vel(&mut self, now: Instant, message: &Twist) {
        let velocity = Velocity::from(message);
        // The ones before are all alike, and nobody could tell which of them came.
        self.driven |= velocity != Velocity::default();
        if self.driven {
            self.records.received(self.cmd_vel_received, now, message);
        }
        self.advance_to(now);
        self.robot.set_velocity(velocity);
    }

    fn handle_motor_power(&mut self, now: Instant, on: bool) -> SetBoolResponse {
        self.advance_to(now);
        self.robot.set_motor_power(on);
        SetBoolResponse { success: true, message: if on { "ON" } else { "OFF" }.into() }
    }

    fn handle_leds(&mut self, now: Instant, message: &raspimouse_msgs::Leds) {
        self.advance_to(now);
        self.robot.set_leds(message.into());
        self.tracer_shows_lamps = true;
    }

    fn handle_buzzer(&mut self, now: Instant, message: &Int16) {
        self.advance_to(now);
        self.robot.set_buzzer(message.data);
    }
}
