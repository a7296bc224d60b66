//! `runnel log` without a command

use std::env;
use std::io::{self, IsTerminal};

use runnel::QoS;
use runnel::logging::Level;
use runnel::msgs::rosgraph_msgs::msg::Log;
use serde_json::{Value as Json, json};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::{Output, counted, shown};
use crate::streaming::Ending;

/// Most lines that wait while others are printed.
const DEPTH: usize = 10_000;

/// The topic on which a master collects what all nodes log, and the topic of each node.
const GATHERED: &str = "/rosout_agg";
const EACH: &str = "/rosout";

#[derive(Debug, clap::Args)]
pub struct Follow {
    /// Only lines of this level and above: debug, info, warn, error or fatal
    #[arg(short, long, default_value = "debug")]
    level: Level,

    /// Only lines of this node, or of those in this namespace (may be given again)
    #[arg(long, value_name = "NODE", add = completion::ros1_nodes())]
    node: Vec<String>,

    /// Only lines with this text
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,

    /// Stop after this many lines
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Show the source location of each line
    #[arg(short = 'p', long)]
    place: bool,
}

/// Prints lines until there are enough.
struct Printer {
    output: Output,
    level: Level,
    nodes: Vec<String>,
    grep: Option<String>,
    place: bool,
    colours: bool,
    left: Option<u64>,
}

pub fn run(args: &Follow, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.running_context()?;
    let topic = if is_gathered(&Graph::new(&context))? { GATHERED } else { EACH };
    let node = cli.node(&context, "log")?;
    let ending = Ending::of(&context);
    let mut printer = Printer::new(args, cli)?;
    let end = ending.clone();
    let take = move |line: &Log| {
        if printer.left == Some(0) {
            return;
        }
        end.check(printer.take(line));
        if printer.left == Some(0) {
            end.complete();
        }
    };
    let subscription = node.create_subscription(topic, QoS::keep_last(DEPTH), take)?;
    ending.wait()?;
    if subscription.dropped() > 0 {
        let dropped = counted(subscription.dropped(), "line");
        log::warn!("dropped {dropped}: they arrived faster than they could be printed");
    }
    Ok(())
}

/// Whether a live node collects lines.
fn is_gathered(graph: &Graph<'_>) -> Result<bool, CliError> {
    let publishers = graph.system_state()?.publishers.remove(GATHERED).unwrap_or_default();
    let lives = |node: &String| {
        let uri = graph.node_uri(node).ok().flatten();
        uri.is_some_and(|uri| graph.pid(&uri).is_ok())
    };
    Ok(publishers.iter().any(lives))
}

impl Printer {
    fn new(args: &Follow, cli: &CliContext) -> Result<Self, CliError> {
        let nodes = args.node.iter().map(|name| cli.resolve(name));
        Ok(Self {
            output: cli.output,
            level: args.level,
            nodes: nodes.collect::<Result<_, CliError>>()?,
            grep: args.grep.clone(),
            place: args.place,
            colours: env::var_os("NO_COLOR").is_none() && io::stdout().is_terminal(),
            left: args.count,
        })
    }

    fn take(&mut self, line: &Log) -> Result<(), CliError> {
        if !self.wants(line) {
            return Ok(());
        }
        self.left = self.left.map(|left| left - 1);
        if self.output.json {
            return self.output.json(&json(line));
        }
        self.output.log_line(&self.text(line), self.colours.then(|| level(line)))
    }

    fn wants(&self, line: &Log) -> bool {
        level(line) >= self.level
            && (self.nodes.is_empty() || self.nodes.iter().any(|wanted| is_within(&line.name, wanted)))
            && self.grep.as_ref().is_none_or(|text| line.msg.contains(text))
    }

    fn text(&self, line: &Log) -> String {
        let name = shown(&line.name);
        let mut text = format!("[{}] [{}] [{name}]: {}", level(line), line.header.stamp, line.msg);
        if self.place && !line.file.is_empty() {
            text += &shown(&format!(" ({}:{} {})", line.file, line.line, line.function));
        }
        text
    }
}

fn level(line: &Log) -> Level {
    Level::from_number(line.level.cast_unsigned())
}

fn json(line: &Log) -> Json {
    json!({
        "stamp": { "secs": line.header.stamp.sec, "nsecs": line.header.stamp.nanosec },
        "level": level(line).name(),
        "node": line.name,
        "msg": line.msg,
        "file": line.file,
        "line": line.line,
        "function": line.function,
        "topics": line.topics,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(node: &str, level: i8, msg: &str) -> Log {
        Log { name: node.into(), level, msg: msg.into(), ..Log::default() }
    }

    #[test]
    fn lines_are_filtered_by_level_node_and_text() {
        let printer = |level, node: &str, grep: Option<&str>| Printer {
            output: Output { json: false },
            level,
            nodes: vec![node.to_owned()],
            grep: grep.map(str::to_owned),
            place: false,
            colours: false,
            left: None,
        };
        let warning = line("/robot/camera", Log::WARN, "frame 7 lost");
        for (level, node, grep, wanted) in [
            (Level::Debug, "/robot", None, true),
            (Level::Warn, "/robot/camera", Some("lost"), true),
            (Level::Error, "/robot", None, false),
            (Level::Debug, "/robot/cam", None, false),
            (Level::Debug, "/robot", Some("found"), false),
        ] {
            assert_eq!(printer(level, node, grep).wants(&warning), wanted, "{level} {node} {grep:?}");
        }
    }

    #[test]
    fn line_shows_its_place_on_request() {
        let printer = Printer {
            output: Output { json: false },
            level: Level::Debug,
            nodes: Vec::new(),
            grep: None,
            place: true,
            colours: false,
            left: None,
        };
        let mut line = line("/a", Log::INFO, "hello");
        assert_eq!(printer.text(&line), "[INFO] [0.000000000] [/a]: hello", "there is none");
        (line.file, line.line, line.function) = ("m.rs".into(), 3, "f".into());
        assert_eq!(printer.text(&line), "[INFO] [0.000000000] [/a]: hello (m.rs:3 f)");
        line.name = "/a\n[ERROR] [/b".into();
        assert_eq!(printer.text(&line), r"[INFO] [0.000000000] [/a\n[ERROR] [/b]: hello (m.rs:3 f)");
    }
}
