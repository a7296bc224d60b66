//! `runnel bag play`

mod action_names;
mod arguments;
mod clocks;
mod control;
mod conversion;
mod cursor;
mod goals;
mod kept;
mod lateness;
mod plan;
mod played_graphs;
mod played_type;
mod player;
mod prefetch;
mod progress;
mod publishers;
mod rate_control;
mod read_splits;
mod recorded_action;
mod requests;
mod schedule;
mod sent_order;
mod service_events;
mod services;
mod source;
mod stepping;
mod topic_selection;

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel::core::names;
use runnel::core::schema::Generation;
use runnel::{Context, Error, Graphs, ServiceServer};
use runnel_bag::Channel;
use runnel_io::clock;
use serde_json::json;

use super::MASTER_DEADLINE;
use super::inputs::Inputs;
use super::keys::Keys;
use super::time_range::PlayedRange;
pub use arguments::{Args, Shared};
use clocks::Clocks;
use control::{Controls, PlayRange, Remote};
use kept::KeptChannels;
use plan::Plan;
use played_graphs::{PlayedGraph, PlayedGraphs};
use player::{Delivery, Player, PlayerParts};
use progress::ProgressLine;
use publishers::{Playing, Publishers};
use rate_control::RateControl;
use read_splits::ReadSplits;
use source::Source;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::{counted, lines};

/// The name of the node in ROS 2, which is part of the names of the services.
const ROS2_NODE: &str = "rosbag2_player";

/// Begins the name of the node in ROS 1, as that of rosbag does.
const ROS1_NODE: &str = "play";

/// What is played while paused, before keys and services go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    None,
    Messages(u64),
    All,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    play(args.plan(cli)?, Burst::None, cli)
}

/// Publishes messages at once, and then waits, paused, for keys and services.
///
/// # Errors
/// As [`run`].
pub fn burst(args: Args, burst: Burst, cli: &CliContext) -> Result<(), CliError> {
    play(Args { pause: true, ..args }.plan(cli)?, burst, cli)
}

fn play(plan: Plan, burst: Burst, cli: &CliContext) -> Result<(), CliError> {
    let inputs = Inputs::open(&plan.bags)?;
    let (channels, times) = (inputs.channels().to_vec(), inputs.times());
    let range = plan.range.of(times)?;
    let graphs = open_graphs(cli, &plan, &channels)?;
    let context = graphs.all().last().map(|graph| graph.context.clone());
    let Some(context) = context else { return Err(nothing_to_play()) };
    let publishers =
        Publishers::create(&graphs, &channels, &playing(&plan, &cli.types()?), |channel| plan.topic(channel));
    if publishers.len() == 0 {
        return Err(nothing_to_play());
    }
    let clocks = Clocks::create(&graphs, &plan.clock, &channels)?;
    let is_quiet = plan.is_quiet || cli.output.json;
    let controls = Controls::new(Keys::open().filter(|_| !is_quiet && plan.reads_keys));
    // What is requested before the beginning is done then.
    let offered = Offered::begin(&graphs, &controls.remote())?;
    if plan.waits_for_subscribers {
        publishers.wait_for_any_subscribers(|| context.ok())?;
    }
    publishers.wait_for_known_subscribers(&graphs, plan.discovery.minimum())?;
    let rate_control = plan.rate_control.as_ref();
    let (player, load) = (controls.remote(), || cli.types());
    let rate_control = rate_control.map(|options| RateControl::create(&graphs, options, &player, load));
    let read_splits = graphs.ros2.as_ref().map(|ros2| ReadSplits::create(&ros2.node, inputs.bags()));
    context.sleep_wall(plan.delay)?;
    let parts = PlayerParts {
        kept: KeptChannels::of(&channels, &publishers.channels()),
        publishers,
        clocks,
        controls,
        source: Source::new(inputs, plan.order, plan.window),
        pauses: channels.iter().map(|channel| plan.pauses_before(channel)).collect(),
        progress: ProgressLine::new(plan.progress_period, is_quiet),
        rate_control: rate_control.transpose()?,
        read_splits: read_splits.transpose()?,
    };
    let mut player = Player::new(&context, parts, plan.pace, range);
    let started = Instant::now();
    player.begin();
    match burst {
        Burst::None => {}
        Burst::Messages(count) => player.burst(Some(count)),
        Burst::All => player.burst(None),
    }
    play_until_end(&mut player, &plan, range, times)?;
    player.end_line();
    // Answers have as much time as the last messages have to arrive.
    player.delivery().publishers.wait_for_answers(context.linger(), || context.ok());
    report(&player, &plan, started.elapsed(), cli)?;
    // The publishers go first: they wait for subscribers that have not received all.
    drop(player);
    offered.end(graphs)
}

fn playing<'a>(plan: &'a Plan, types: &'a crate::types::Types) -> Playing<'a> {
    Playing {
        types,
        graph: plan.graph,
        rules: &plan.rules,
        overrides: &plan.overrides,
        requests: plan.requests,
        goals: plan.goals,
    }
}

/// Plays the range once or again and again, and what is requested afterwards.
fn play_until_end(
    player: &mut Player,
    plan: &Plan,
    range: (u64, u64),
    times: Option<(u64, u64)>,
) -> Result<(), CliError> {
    while player.play()? && plan.loops {
        player.restart(range);
    }
    while plan.keeps_alive
        && let Some((again, reply)) = player.wait_for_request()?
    {
        let PlayRange { start, duration, until } = again;
        match (PlayedRange { start: Some(start), duration, until, until_nsec: None }).of(times) {
            Ok(range) => {
                reply(true);
                player.restart(range);
                player.play()?;
            }
            Err(why) => {
                reply(false);
                log::warn!("the request to play is refused: {why}");
            }
        }
    }
    Ok(())
}

/// The services of the player, and the threads that serve them.
struct Offered {
    services: Vec<ServiceServer>,
    spinning: Vec<JoinHandle<Result<(), Error>>>,
}

impl Offered {
    fn begin(graphs: &PlayedGraphs, remote: &Remote) -> Result<Self, CliError> {
        let mut services = Vec::new();
        if let Some(graph) = &graphs.ros1 {
            services.extend(services::ros1(&graph.node, remote)?);
        }
        if let Some(graph) = &graphs.ros2 {
            services.extend(services::ros2(&graph.node, remote)?);
        }
        let spin = |graph: &PlayedGraph| {
            let context = graph.context.clone();
            thread::spawn(move || context.spin())
        };
        Ok(Self { services, spinning: graphs.all().map(spin).collect() })
    }

    fn end(self, graphs: PlayedGraphs) -> Result<(), CliError> {
        let Self { services, spinning } = self;
        drop(services);
        graphs.all().for_each(|graph| graph.context.shutdown());
        drop(graphs);
        for thread in spinning {
            if let Ok(spun) = thread.join() {
                spun?;
            }
        }
        Ok(())
    }
}

/// Joins the graphs of the channels that are played.
fn open_graphs(cli: &CliContext, plan: &Plan, channels: &[Channel]) -> Result<PlayedGraphs, CliError> {
    let has = |generation: Generation| {
        let is_played = |channel: &&Channel| plan.topic(channel).is_some();
        channels.iter().filter(is_played).any(|channel| {
            played_type::generation(channel).is_some_and(|own| plan.graph.unwrap_or(own) == generation)
        })
    };
    let has_ros2 = has(Generation::Ros2) && !plan.filter.is_only_ros1();
    let has_ros1 = has(Generation::Ros1) && !plan.filter.is_only_ros2() && !cli.is_only_in_ros2();
    let ros1 = match has_ros1.then(|| join_ros1(cli, plan, !has_ros2)).transpose() {
        Err(why) if has_ros2 && !plan.filter.is_only_ros1() => {
            cli.output.note(&format!("topics of ROS 1 are not played: {why}"));
            None
        }
        graph => graph?,
    };
    let ros2 = has_ros2.then(|| join(cli, plan, Graphs::Ros2, true)).transpose()?;
    Ok(PlayedGraphs { ros1, ros2 })
}

fn join_ros1(cli: &CliContext, plan: &Plan, signals: bool) -> Result<PlayedGraph, CliError> {
    Graph::within(&cli.query_context()?, MASTER_DEADLINE).check_master()?;
    join(cli, plan, Graphs::Ros1, signals)
}

/// A node in a graph. Only one context of the process can catch signals.
fn join(cli: &CliContext, plan: &Plan, graphs: Graphs, signals: bool) -> Result<PlayedGraph, CliError> {
    let options = cli.options(signals).graphs(graphs);
    let context = Context::with_options(match plan.linger {
        Some(time) => options.linger(time),
        None => options,
    })?;
    let name = match graphs {
        Graphs::Ros2 => ROS2_NODE.to_owned(),
        _ => names::anonymous(ROS1_NODE, &clock::realtime().as_nanos().to_string()),
    };
    let node = cli.node_of_name(&context, &name)?;
    Ok(PlayedGraph { context, node })
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
    let Delivery { publishers, published, refused, .. } = player.delivery();
    let topics = publishers.len();
    let text = || {
        let messages = counted(*published, "message");
        let seconds = elapsed.as_secs_f64();
        let head = format!("played {messages} of {} in {seconds:.1} s", counted(topics as u64, "topic"));
        let [median, p99, most] = millis;
        let late = format!("late by {median:.2} ms (median), {p99:.2} ms (99 %), {most:.2} ms (most)");
        let refusals = format!("messages that could not be published: {refused}");
        let damaged = format!("damaged parts left out: {}", player.damaged());
        let rows = [(lateness.count(), late), (*refused, refusals), (player.damaged(), damaged)];
        let rows = rows.into_iter().filter(|(count, _)| *count > 0).map(|(_, row)| row);
        lines([head].into_iter().chain(rows))
    };
    let json = || {
        json!({
            "messages": *published,
            "topics": topics,
            "seconds": elapsed.as_secs_f64(),
            "late_ms": { "p50": millis[0], "p99": millis[1], "max": millis[2] },
            "refused": *refused,
            "damaged": player.damaged(),
        })
    };
    cli.output.answer(text, json)
}
