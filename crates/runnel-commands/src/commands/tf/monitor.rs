//! `runnel tf monitor`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use runnel::core::time::{Instant, Time};
use runnel::msgs::geometry_msgs::msg::TransformStamped;
use runnel::msgs::tf2_msgs::msg::TFMessage;
use runnel::tf::Buffer;
use runnel::{MessageInfo, Node, Subscription};
use runnel_io::clock;
use serde_json::{Value as Json, json};

use super::frame;
use super::received::{ListenArgs, qos};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::measure::PERIOD;
use crate::output::{Output, shown, table};
use crate::streaming::{Ending, lock};

/// Most frames that are shown: broadcasters may invent any number.
const MAX_FRAMES: usize = 10_000;

/// Show rate and delay of each transform, once a second (tf2_monitor)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only the frames between this one and TARGET
    #[arg(value_parser = frame, requires = "target")]
    source: Option<String>,

    /// The frame at the other end
    #[arg(value_parser = frame)]
    target: Option<String>,

    /// Stop after this many reports
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    listen: ListenArgs,
}

/// What was received of each frame's transform.
#[derive(Default)]
struct Monitor {
    frames: BTreeMap<String, Received>,
}

/// What was received of one frame's transform.
#[derive(Clone, Debug, Default, PartialEq)]
struct Received {
    parent: String,
    broadcaster: String,
    is_static: bool,
    count: u64,
    first: Instant,
    last: Instant,
    /// Sum and maximum of the ages at arrival, in seconds.
    delays: f64,
    max_delay: f64,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let snapshot = args.listen.open_graphs(cli)?;
    let context = snapshot.context();
    let node = cli.node(context, "tf_monitor")?;
    let (monitor, buffer) = (Arc::<Mutex<Monitor>>::default(), Buffer::new(context));
    let _subscriptions = subscribe(&node, &monitor, &buffer)?;
    let ending = Ending::of(context);
    let ends = args.source.clone().zip(args.target.clone());
    let (end, output, mut left) = (ending.clone(), cli.output, args.count);
    let _timer = node.create_wall_timer(PERIOD, move || {
        end.check(report(output, &lock(&monitor), &buffer, ends.as_ref()));
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) {
            end.complete();
        }
    });
    ending.wait()
}

fn subscribe(
    node: &Node,
    monitor: &Arc<Mutex<Monitor>>,
    buffer: &Buffer,
) -> Result<Vec<Subscription>, CliError> {
    let topics = ["/tf", "/tf_static"].into_iter().zip(qos()).zip([false, true]);
    let subscribe = |((topic, qos), is_static)| {
        let (monitor, buffer) = (Arc::clone(monitor), buffer.clone());
        let arrived = move |message: &TFMessage, info: &MessageInfo| {
            let now = (clock::monotonic(), clock::realtime());
            for transform in &message.transforms {
                // A transform that is not sound is shown, although the buffer does not store it.
                let _ = buffer.set_transform(transform, info.publisher(), is_static);
                lock(&monitor).arrived(now, transform, info.publisher(), is_static);
            }
        };
        Ok(node.create_subscription_with_info(topic, qos, arrived)?)
    };
    topics.map(subscribe).collect()
}

impl Monitor {
    fn arrived(
        &mut self,
        (now, wall): (Instant, Time),
        transform: &TransformStamped,
        broadcaster: &str,
        is_static: bool,
    ) {
        let child = &transform.child_frame_id;
        if self.frames.len() >= MAX_FRAMES && !self.frames.contains_key(child) {
            return;
        }
        let received = self.frames.entry(child.clone()).or_default();
        transform.header.frame_id.clone_into(&mut received.parent);
        broadcaster.clone_into(&mut received.broadcaster);
        received.is_static = is_static;
        if received.count == 0 {
            received.first = now;
        }
        received.last = now;
        received.count += 1;
        let delay = (wall - transform.header.stamp).as_secs_f64();
        received.delays += delay;
        received.max_delay = if received.count == 1 { delay } else { received.max_delay.max(delay) };
    }
}

impl Received {
    /// Transforms per second; `None` if it is static or came once.
    fn rate(&self) -> Option<f64> {
        let span = self.last.since(self.first).as_secs_f64();
        (!self.is_static && span > 0.0).then(|| (self.count - 1) as f64 / span)
    }

    /// Mean and maximum of the delays in seconds; `None` if it is static.
    fn delay(&self) -> Option<[f64; 2]> {
        (!self.is_static && self.count > 0).then(|| [self.delays / self.count as f64, self.max_delay])
    }
}

/// Prints all frames, or those between two frames.
fn report(
    output: Output,
    monitor: &Monitor,
    buffer: &Buffer,
    ends: Option<&(String, String)>,
) -> Result<(), CliError> {
    let path = ends.map(|(source, target)| buffer.frames_between(source, target));
    let path = match path.transpose() {
        Ok(path) => path,
        Err(why) if output.json => return output.json(&json!({ "error": why.to_string() })),
        Err(why) => return output.line(&format!("waiting: {why}")),
    };
    let is_shown = |name: &String| path.as_ref().is_none_or(|path| path.contains(name));
    let frames: Vec<_> = monitor.frames.iter().filter(|(name, _)| is_shown(name)).collect();
    if output.json {
        let frames: Vec<_> = frames.iter().map(|(name, received)| to_json(name, received)).collect();
        return output.json(&json!({ "frames": frames, "path": path }));
    }
    if frames.is_empty() && path.is_none() {
        return output.line("no transforms yet");
    }
    let rows: Vec<_> = frames.iter().map(|(name, received)| row(name, received)).collect();
    let path = path.iter().flatten().map(|frame| shown(frame)).collect::<Vec<_>>().join(" -> ");
    let path = if path.is_empty() { path } else { path + "\n" };
    output.paragraph(&format!("{path}{}", table(&COLUMNS, &rows)))
}

const COLUMNS: [&str; 6] = ["frame", "parent", "broadcaster", "rate", "delay", "max delay"];

fn row(name: &str, received: &Received) -> Vec<String> {
    let rate = match received.rate() {
        Some(rate) => format!("{rate:.3}"),
        None if received.is_static => "static".to_owned(),
        None => "-".to_owned(),
    };
    let delays = received.delay().map(|delays| delays.map(|delay| format!("{delay:.3}s")));
    let [mean, max] = delays.unwrap_or_else(|| ["-"; 2].map(str::to_owned));
    vec![name.to_owned(), received.parent.clone(), received.broadcaster.clone(), rate, mean, max]
}

fn to_json(name: &str, received: &Received) -> Json {
    let delay = received.delay().map(|[mean, max]| json!({ "mean": mean, "max": max }));
    json!({
        "frame": name,
        "parent": received.parent,
        "broadcaster": received.broadcaster,
        "static": received.is_static,
        "transforms": received.count,
        "rate": received.rate(),
        "delay": delay,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrives(monitor: &mut Monitor, frame: &str, milliseconds: u64, delay: i64, is_static: bool) {
        let mut transform = TransformStamped { child_frame_id: frame.into(), ..TransformStamped::default() };
        transform.header.frame_id = "map".into();
        let wall = Time { sec: 1000, nanosec: 0 };
        transform.header.stamp = Time::from_nanos(wall.as_nanos() - delay * 1_000_000);
        monitor.arrived((Instant(milliseconds * 1_000_000), wall), &transform, "/driver", is_static);
    }

    #[test]
    fn rate_and_delays_are_shown() {
        let mut monitor = Monitor::default();
        for (time, delay) in [(0, 10), (100, 30), (200, 20)] {
            arrives(&mut monitor, "base", time, delay, false);
        }
        let base = &monitor.frames["base"];
        assert_eq!(row("base", base), ["base", "map", "/driver", "10.000", "0.020s", "0.030s"]);
        assert_eq!((to_json("base", base)["transforms"].clone(), base.is_static), (json!(3), false));
    }

    #[test]
    fn static_and_single_transforms_have_no_rate() {
        let mut monitor = Monitor::default();
        arrives(&mut monitor, "camera", 0, 10, true);
        arrives(&mut monitor, "base", 0, -20, false);
        assert_eq!(
            row("camera", &monitor.frames["camera"]),
            ["camera", "map", "/driver", "static", "-", "-"]
        );
        assert_eq!(
            row("base", &monitor.frames["base"]),
            ["base", "map", "/driver", "-", "-0.020s", "-0.020s"]
        );
    }

    #[test]
    fn number_of_frames_is_limited() {
        let mut monitor = Monitor::default();
        for number in 0..MAX_FRAMES + 5 {
            arrives(&mut monitor, &number.to_string(), 0, 0, false);
        }
        arrives(&mut monitor, "0", 0, 0, false);
        assert_eq!((monitor.frames.len(), monitor.frames["0"].count), (MAX_FRAMES, 2));
    }
}
