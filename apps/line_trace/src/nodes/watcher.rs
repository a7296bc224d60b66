//! The watcher node: follows a drive without taking part in it.

use super::{CMD_VEL, DEPTH, LEDS, LIGHT_SENSORS, ODOM, lock};
use crate::course::Course;
use crate::progress::Progress;
use runnel::msgs::geometry_msgs::Twist;
use runnel::msgs::nav_msgs::Odometry;
use runnel::msgs::raspimouse_msgs::{Leds, LightSensors};
use runnel::{Context, Error, Subscription};
use std::sync::{Arc, Mutex};

/// Follows a drive while the context spins.
pub struct WatcherNode {
    progress: Arc<Mutex<Progress>>,
    light_sensors: Subscription,
    cmd_vel: Subscription,
    _leds: Subscription,
    _odom: Subscription,
}

/// Messages that the watcher has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Of `/light_sensors`.
    pub light_sensors: u64,
    /// Of `/cmd_vel`.
    pub cmd_vel: u64,
}

impl WatcherNode {
    /// Makes the node `watcher` for a drive along this course.
    ///
    /// # Errors
    /// When the master refuses, or sockets cannot be opened.
    pub fn new(context: &Context, course: Course) -> Result<Self, Error> {
        let node = context.create_node("watcher")?;
        let progress = Arc::new(Mutex::new(Progress::new(course)));
        let (lamps, commands, places) = (Arc::clone(&progress), Arc::clone(&progress), Arc::clone(&progress));
        Ok(Self {
            progress,
            light_sensors: node.create_subscription(LIGHT_SENSORS, DEPTH, |_: &LightSensors| ())?,
            cmd_vel: node.create_subscription(CMD_VEL, DEPTH, move |message: &Twist| {
                lock(&commands).handle_command(message.into());
            })?,
            _leds: node.create_subscription(LEDS, DEPTH, move |message: &Leds| {
                lock(&lamps).handle_leds(message.into());
            })?,
            _odom: node.create_subscription(ODOM, DEPTH, move |message: &Odometry| {
                let now = message.header.stamp.as_secs_f64();
                let (pose, velocity) = ((&message.pose.pose).into(), (&message.twist.twist).into());
                lock(&places).handle_place(now, pose, velocity);
            })?,
        })
    }

    /// Looks at how far the drive has come.
    pub fn look<T>(&self, look: impl FnOnce(&Progress) -> T) -> T {
        look(&lock(&self.progress))
    }

    /// How many messages it has heard.
    pub fn received(&self) -> Received {
        Received { light_sensors: self.light_sensors.received(), cmd_vel: self.cmd_vel.received() }
    }
}
