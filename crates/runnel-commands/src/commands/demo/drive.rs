//! The drive: watched until its last lap, then ended.

use std::time::{Duration, Instant};

use line_trace::lap::Lap;
use line_trace::latency::{Direction, Joined, Log, Statistics, TopicLog, join};
use line_trace::memory::Process;
use line_trace::nodes::{Received, WatcherNode};
use line_trace::progress::PathPoint;
use line_trace::tracer::Stage;
use line_trace::track::Track;
use runnel::Context;

use super::display::{Display, DriveState, stage_name};
use super::process::NodeProcess;
use super::usage;
use crate::error::CliError;
use crate::streaming::spin_for;

/// The topics whose latency is reported.
const LIGHT_SENSORS: &str = "/light_sensors";
const CMD_VEL: &str = "/cmd_vel";

/// Period of updates.
const UPDATE_PERIOD: Duration = Duration::from_millis(66);

/// Points of the path that are shown: half a minute at 20 a second.
const TAIL: usize = 600;

/// Newest sent messages among which the newest received ones are looked up, for the current latency.
const NEWEST_SENT: usize = 240;

/// Newest received messages of which the current latency is computed. Fewer than [`NEWEST_SENT`], so that the sender's
/// records still have their counterparts.
const NEWEST_RECEIVED: usize = NEWEST_SENT / 2;

/// Oldest records of the receiver that are skipped where the sender's log has overwritten older ones.
const SKIPPED_OLDEST: usize = NEWEST_SENT;

/// The watching node, and the processes of the other two. Field order matters: the watcher is dropped before the
/// processes end.
pub struct Drive {
    watcher: WatcherNode,
    control: NodeProcess,
    tracer: NodeProcess,
    /// The tracer's last known stage.
    stage: Option<Stage>,
    rates: Rates,
}

/// When the drive ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Laps; `None` to drive until Ctrl-C.
    pub laps: Option<u32>,
    /// Time limit of each lap with its preparation, if any.
    pub lap_within: Option<Duration>,
    /// Whether Ctrl-C is a regular end.
    pub may_be_interrupted: bool,
}

/// Results of a drive.
pub struct Finished {
    /// The laps.
    pub laps: Vec<Lap>,
    /// The path of the robot.
    pub path: Vec<PathPoint>,
    /// Memory of each process at the end of the last lap, by its description.
    pub usages: Vec<Process>,
    /// The messages of each topic, joined.
    pub latencies: Vec<(&'static str, Joined)>,
}

impl Drive {
    /// Begins to watch `[control, tracer]`.
    ///
    /// # Errors
    /// When the watcher's node cannot be made.
    pub fn new(
        context: &Context,
        track: &Track,
        [control, tracer]: [NodeProcess; 2],
    ) -> Result<Self, CliError> {
        let watcher = WatcherNode::new(context, track.course().clone())?;
        Ok(Self { watcher, control, tracer, stage: None, rates: Rates::new() })
    }

    /// Watches until the last lap is driven, or until Ctrl-C if that is a regular end.
    ///
    /// # Errors
    /// When a process ends, a lap takes too long, or Ctrl-C interrupts a drive with a last lap.
    pub fn watch(&mut self, context: &Context, goal: Goal, display: &mut Display) -> Result<(), CliError> {
        let (mut driven, mut began) = (0, Instant::now());
        while goal.laps.is_none_or(|laps| driven < laps) {
            spin_for(context, UPDATE_PERIOD)?;
            if !context.ok() {
                return if goal.may_be_interrupted { Ok(()) } else { Err(self.interrupted()) };
            }
            self.control.check()?;
            self.tracer.check()?;
            let done = self.watcher.with_progress(|progress| progress.laps().len() as u32);
            if done > driven {
                (driven, began) = (done, Instant::now());
            } else if let Some(limit) = goal.lap_within.filter(|limit| began.elapsed() >= *limit) {
                return Err(self.lap_timeout_error(limit));
            }
            display.show(&self.state(driven, goal.laps)?)?;
        }
        Ok(())
    }

    /// Ends the processes and collects their records. `own_role` describes this process.
    ///
    /// # Errors
    /// When a process does not end properly.
    pub fn finish(self, own_role: &str) -> Result<Finished, CliError> {
        let Self { watcher, control, tracer, .. } = self;
        let usages = vec![
            ("control: the robot".to_owned(), usage::of(control.id())),
            ("tracer".to_owned(), usage::of(tracer.id())),
            (own_role.to_owned(), usage::of(std::process::id())),
        ];
        let (laps, path) =
            watcher.with_progress(|progress| (progress.laps().to_vec(), progress.path().to_vec()));
        // Dropped first: otherwise it would warn that its publishers disappear.
        drop(watcher);
        tracer.terminate()?;
        control.terminate()?;
        let (tracer_log, control_log) = (tracer.finish()?, control.finish()?);
        let latencies = vec![
            (LIGHT_SENSORS, joined(LIGHT_SENSORS, &control_log, &tracer_log)),
            (CMD_VEL, joined(CMD_VEL, &tracer_log, &control_log)),
        ];
        Ok(Finished { laps, path, usages, latencies })
    }

    fn interrupted(&self) -> CliError {
        let stage = stage_name(self.stage);
        CliError::Failed(format!("the demo was interrupted ({stage})"))
    }

    fn lap_timeout_error(&self, limit: Duration) -> CliError {
        let (seconds, stage) = (limit.as_secs(), stage_name(self.stage));
        let [sensors, commands] = self.rates.last.unwrap_or_default();
        let mut text = format!(
            "no lap within {seconds} s: the robot is still {stage} ({LIGHT_SENSORS} {sensors:.0} Hz, {CMD_VEL} {commands:.0} Hz)"
        );
        for node in [&self.control, &self.tracer] {
            let errors = node.stderr_tail();
            if !errors.is_empty() {
                text.push_str(&format!("\nnode {} printed:\n{errors}", node.name()));
            }
        }
        CliError::Failed(text)
    }

    fn state(&mut self, driven: u32, laps: Option<u32>) -> Result<DriveState, CliError> {
        let rates = self.rates.update(Instant::now(), self.watcher.received());
        let latencies = self.latencies()?;
        Ok(self.watcher.with_progress(|progress| {
            self.stage = progress.stage().or(self.stage);
            let newest = progress.path().len().saturating_sub(TAIL);
            DriveState {
                stage: self.stage,
                driver: progress.driver().map(str::to_owned),
                lap: laps.map_or(driven + 1, |laps| laps.min(driven + 1)),
                laps,
                lap_fraction: if laps == Some(driven) { 1.0 } else { progress.lap_fraction() },
                speed: progress.speed(),
                deviation: progress.deviation(),
                rates,
                latencies,
                robot: progress.robot(),
                path: progress.path()[newest..].iter().map(|point| point.position).collect(),
                sensors: progress.sensors(),
                switches: progress.switches(),
                leds: progress.leds(),
                buzzer: progress.buzzer(),
            }
        }))
    }

    /// Latencies of the newest messages on `/light_sensors` and `/cmd_vel`.
    fn latencies(&mut self) -> Result<[Option<Statistics>; 2], CliError> {
        let (control, tracer) = (self.control.records()?, self.tracer.records()?);
        let sensors = newest(LIGHT_SENSORS, control, tracer);
        Ok([sensors, newest(CMD_VEL, tracer, control)])
    }
}

/// Statistics of the newest messages that both ends recorded.
fn newest(topic: &str, sender: &Log, receiver: &Log) -> Option<Statistics> {
    let sent = sender.topic(topic, Direction::Sent)?.newest(NEWEST_SENT);
    let received = receiver.topic(topic, Direction::Received)?.newest(NEWEST_RECEIVED);
    Statistics::of(&join(&sent, &received).latencies_ns)
}

/// The messages of a topic that both ends recorded. Where newer records replaced older ones, the oldest records of
/// the receiver are skipped: the sender may no longer have their counterparts.
fn joined(topic: &str, sender: &Log, receiver: &Log) -> Joined {
    let sent = sender.topic(topic, Direction::Sent);
    let received = receiver.topic(topic, Direction::Received);
    let both = |(sent, received): (&TopicLog, &TopicLog)| {
        let kept = received.records.len();
        let skipped = if sent.overwritten > 0 { SKIPPED_OLDEST } else { 0 };
        join(sent, &received.newest(kept.saturating_sub(skipped)))
    };
    sent.zip(received).map(both).unwrap_or_default()
}

/// Messages a second, measured over at least a second.
struct Rates {
    since: Instant,
    counts: Received,
    last: Option<[f64; 2]>,
}

impl Rates {
    fn new() -> Self {
        Self { since: Instant::now(), counts: Received::default(), last: None }
    }

    /// The rates on `/light_sensors` and `/cmd_vel`.
    fn update(&mut self, now: Instant, counts: Received) -> Option<[f64; 2]> {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64();
        if seconds >= 1.0 {
            let rate = |now: u64, before: u64| (now - before) as f64 / seconds;
            let sensors = rate(counts.light_sensors, self.counts.light_sensors);
            self.last = Some([sensors, rate(counts.cmd_vel, self.counts.cmd_vel)]);
            (self.since, self.counts) = (now, counts);
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_measured_over_a_second() {
        let mut rates = Rates::new();
        let start = rates.since;
        let counts = |light_sensors, cmd_vel| Received { light_sensors, cmd_vel };
        assert_eq!(rates.update(start + Duration::from_millis(900), counts(90, 80)), None);
        assert_eq!(rates.update(start + Duration::from_secs(2), counts(200, 100)), Some([100.0, 50.0]));
        assert_eq!(rates.update(start + Duration::from_millis(2500), counts(250, 100)), Some([100.0, 50.0]));
        assert_eq!(rates.update(start + Duration::from_secs(3), counts(300, 100)), Some([100.0, 0.0]));
    }
}
