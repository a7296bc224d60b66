//! Watcher node: follows a drive without taking part in it.

use super::priority::Priority;
use super::{BUZZER, CMD_VEL, DEPTH, LEDS, LIGHT_SENSORS, ODOM, SWITCHES, TRACER, lock};
use crate::course::Course;
use crate::lap::Lap;
use crate::progress::Progress;
use runnel::core::Message;
use runnel::msgs::geometry_msgs::msg::Twist;
use runnel::msgs::nav_msgs::msg::Odometry;
use runnel::msgs::raspimouse_msgs::msg::{Leds, LightSensors, Switches};
use runnel::msgs::std_msgs::msg::Int16;
use runnel::{Borrowed, Context, Error, Node, Subscription};
use std::sync::{Arc, Mutex};

/// Follows a drive while the context spins.
pub struct WatcherNode {
    progress: Arc<Mutex<Progress>>,
    light_sensors: Subscription,
    cmd_vel: Subscription,
    _others: [Subscription; 4],
}

/// Counts of received messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Of `light_sensors`.
    pub light_sensors: u64,
    /// Of `cmd_vel`.
    pub cmd_vel: u64,
}

impl WatcherNode {
    /// Creates the node `watcher` for a drive along this course.
    ///
    /// # Errors
    /// If the master refuses, or sockets cannot be opened.
    pub fn new(context: &Context, course: Course) -> Result<Self, Error> {
        let node = context.create_node("watcher")?;
        let progress = Arc::new(Mutex::new(Progress::new(course)));
        Ok(Self {
            light_sensors: subscribe(&node, LIGHT_SENSORS, &progress, |progress, message: &LightSensors| {
                progress.handle_light_sensors(message.into());
            })?,
            cmd_vel: subscribe_to_commands(&node, &progress)?,
            _others: [
                subscribe(&node, SWITCHES, &progress, |progress, message: &Switches| {
                    progress.handle_switches(message.into());
                })?,
                subscribe(&node, LEDS, &progress, |progress, message: &Leds| {
                    progress.handle_leds(message.into());
                })?,
                subscribe(&node, BUZZER, &progress, |progress, message: &Int16| {
                    progress.handle_buzzer(message.data);
                })?,
                subscribe(&node, ODOM, &progress, |progress, message: &Odometry| {
                    let now = message.header.stamp.as_secs_f64();
                    let (pose, velocity) = ((&message.pose.pose).into(), (&message.twist.twist).into());
                    progress.handle_pose(now, pose, velocity);
                })?,
            ],
            progress,
        })
    }

    /// Reads the progress of the drive.
    pub fn with_progress<T>(&self, read: impl FnOnce(&Progress) -> T) -> T {
        read(&lock(&self.progress))
    }

    /// The laps since the last call.
    pub fn take_laps(&self) -> Vec<Lap> {
        lock(&self.progress).take_laps()
    }

    /// How many messages have been received.
    pub fn received(&self) -> Received {
        Received { light_sensors: self.light_sensors.received(), cmd_vel: self.cmd_vel.received() }
    }
}

fn subscribe_to_commands(node: &Node, progress: &Arc<Mutex<Progress>>) -> Result<Subscription, Error> {
    let progress = Arc::clone(progress);
    let priority = Priority::new(node.resolve(TRACER)?);
    node.create_borrowing_subscription(CMD_VEL, DEPTH, move |message: Borrowed<Twist>| {
        let publisher = message.publisher();
        match message.view() {
            Ok(command) if priority.is_tracer(publisher) => lock(&progress).handle_command((&command).into()),
            Ok(_) => lock(&progress).handle_foreign_command(publisher),
            Err(_) => {}
        }
    })
}

fn subscribe<M: Message>(
    node: &Node,
    topic: &str,
    progress: &Arc<Mutex<Progress>>,
    handle: fn(&mut Progress, &M),
) -> Result<Subscription, Error> {
    let progress = Arc::clone(progress);
    node.create_subscription(topic, DEPTH, move |message: &M| handle(&mut lock(&progress), message))
}
