//! `runnel bag play`

mod arguments;
mod kept;
mod lateness;
mod played_type;
mod player;
mod prefetch;
mod publishers;
mod schedule;

use std::time::{Duration, Instant};

use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{Context, Graphs, Publisher, QoS};
use runnel_bag::{Channel, Encoding};
use serde_json::json;

use super::MASTER_DEADLINE;
use super::inputs::{Inputs, Wanted};
use arguments::Plan;
pub use arguments::{Args, Unsupported};
use player::Player;
use publishers::{Publishers, Side, Sides};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::{counted, lines};

/// How long the end waits for subscribers that have not received the last messages.
const LINGER: Duration = Duration::from_secs(1);

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    let plan = args.plan(cli)?;
    let mut inputs = Inputs::open(&plan.bags)?;
    let range = plan.range(&inputs)?;
    let sides = open_graphs(cli, &plan, inputs.channels())?;
    let context = sides.all().last().map(|side| side.context.clone());
    let Some(context) = context else { return Err(nothing_to_play()) };
    let topic = |channel: &Channel| plan.topic(channel);
    let publishers = Publishers::create(&sides, inputs.channels(), &cli.types()?, topic);
    if publishers.len() == 0 {
        return Err(nothing_to_play());
    }
    let clocks = clocks(&sides, &plan)?;
    if plan.waits_for_subscribers {
        publishers.wait_for_any_subscribers(|| context.ok())?;
    }
    publishers.wait_for_known_subscribers(&sides, plan.discovery.minimum())?;
    context.sleep_wall(plan.delay)?;
    let mut player = Player::new(&context, publishers, clocks, plan.pace, plan.is_quiet || cli.output.json);
    let started = Instant::now();
    play(&mut player, &mut inputs, &plan, range)?;
    player.end_line();
    while plan.keeps_alive && context.ok() {
        context.sleep_wall(Duration::from_millis(100))?;
    }
    report(&player, &plan, started.elapsed(), cli)
}

/// Plays the range once, or again and again.
fn play(player: &mut Player, inputs: &mut Inputs, plan: &Plan, range: (u64, u64)) -> Result<(), CliError> {
    let channels = player.publishers().channels();
    let wanted = Wanted { channels: Some(channels), start: Some(range.0), end: Some(range.1) };
    let kept = kept::before(inputs, &wanted, range.0, || player.ok());
    player.publish_kept(&kept);
    while player.play(inputs, &wanted, range)? && plan.loops {}
    Ok(())
}

/// Joins the graphs of the channels that are played.
fn open_graphs(cli: &CliContext, plan: &Plan, channels: &[Channel]) -> Result<Sides, CliError> {
    let has = |encoding: Encoding| {
        channels.iter().any(|channel| channel.encoding == encoding && plan.topic(channel).is_some())
    };
    let has_ros2 = has(Encoding::Cdr) && !plan.filter.is_only_ros1();
    let has_ros1 = has(Encoding::Ros1) && !plan.filter.is_only_ros2() && !cli.is_only_in_ros2();
    let ros1 = match has_ros1.then(|| ros1_side(cli, !has_ros2)).transpose() {
        Err(why) if has_ros2 && !plan.filter.is_only_ros1() => {
            cli.output.note(&format!("topics of ROS 1 are not played: {why}"));
            None
        }
        side => side?,
    };
    let ros2 = has_ros2.then(|| side(cli, Graphs::Ros2, true)).transpose()?;
    Ok(Sides { ros1, ros2 })
}

fn ros1_side(cli: &CliContext, signals: bool) -> Result<Side, CliError> {
    Graph::within(&cli.query_context()?, MASTER_DEADLINE).check_master()?;
    side(cli, Graphs::Ros1, signals)
}

/// A node in a graph. Only one context of the process can catch signals.
fn side(cli: &CliContext, graphs: Graphs, signals: bool) -> Result<Side, CliError> {
    let context = Context::with_options(cli.options(signals).graphs(graphs).linger(LINGER))?;
    let node = cli.node(&context, "play")?;
    Ok(Side { context, node })
}

fn clocks(sides: &Sides, plan: &Plan) -> Result<Vec<Publisher<Clock>>, CliError> {
    let sides = sides.all().filter(|_| plan.pace.clock.is_some());
    let create = |side: &Side| side.node.create_publisher::<Clock>("/clock", QoS::keep_last(1));
    Ok(sides.map(create).collect::<Result<_, _>>()?)
}

fn nothing_to_play() -> CliError {
    CliError::Failed("the bag has no topic that can be played. Try: runnel bag info".into())
}

fn report(player: &Player, plan: &Plan, elapsed: Duration, cli: &CliContext) -> Result<(), CliError> {
    if plan.is_quiet {
        return Ok(());
    }
    let lateness = &player.lateness;
    let times = [lateness.quantile(0.5), lateness.quantile(0.99), lateness.max()];
    let millis = times.map(|time| time.as_secs_f64() * 1e3);
    let topics = player.publishers().len();
    let text = || {
        let messages = counted(player.published, "message");
        let seconds = elapsed.as_secs_f64();
        let head = format!("played {messages} of {} in {seconds:.1} s", counted(topics as u64, "topic"));
        let [median, p99, most] = millis;
        let late = format!("late by {median:.2} ms (median), {p99:.2} ms (99 %), {most:.2} ms (most)");
        let refused = format!("messages that could not be published: {}", player.refused);
        let damaged = format!("damaged parts left out: {}", player.damaged);
        let rows = [(lateness.count(), late), (player.refused, refused), (player.damaged, damaged)];
        let rows = rows.into_iter().filter(|(count, _)| *count > 0).map(|(_, row)| row);
        lines([head].into_iter().chain(rows))
    };
    let json = || {
        json!({
            "messages": player.published,
            "topics": topics,
            "seconds": elapsed.as_secs_f64(),
            "late_ms": { "p50": millis[0], "p99": millis[1], "max": millis[2] },
            "refused": player.refused,
            "damaged": player.damaged,
        })
    };
    cli.output.answer(text, json)
}
