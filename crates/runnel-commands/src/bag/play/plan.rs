//! What the arguments of `runnel bag play` mean.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use runnel::core::names::{RemapRule, Remapping};
use runnel::core::schema::Generation;
use runnel_bag::Channel;
use runnel_bridge::Rules;

use super::arguments::{Args, Shared};
use super::clocks::ClockOptions;
use super::player::Pace;
use super::progress::ProgressPeriod;
use super::requests::{self, RequestSource};
use crate::bag::qos_overrides::{self, QosOverrides};
use crate::bag::time_range::PlayedRange;
use crate::bridge_rules;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};

/// How long the end waits for subscribers that have not received the last messages.
const LINGER: Duration = Duration::from_secs(1);

/// For ever: `--wait-for-all-acked 0`.
const LONGEST_LINGER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A playing: what, where and how.
#[derive(Debug)]
pub struct Plan {
    pub bags: Vec<PathBuf>,
    pub range: PlayedRange,
    pub pace: Pace,
    pub clock: ClockOptions,
    pub loops: bool,
    pub delay: Duration,
    pub keeps_alive: bool,
    pub waits_for_subscribers: bool,
    pub reads_keys: bool,
    pub progress_period: ProgressPeriod,
    pub is_quiet: bool,
    pub linger: Duration,
    pub filter: GraphFilter,
    pub discovery: Discovery,
    /// The graph of all messages, if they do not stay in their own.
    pub graph: Option<Generation>,
    pub rules: Rules,
    pub overrides: QosOverrides,
    /// If requests of services are sent instead of their events: which ones.
    pub requests: Option<RequestSource>,
    topics: TopicSelection,
    pause_topics: Vec<String>,
    prefix: String,
    remapping: Remapping,
    /// Names of all topics that are in arguments of ROS, by those in the bag.
    resolve: Remapping,
}

/// A selection of topics, and of services by their events.
#[derive(Debug, Default)]
struct TopicSelection {
    topics: Vec<String>,
    services: Vec<String>,
    regexes: Vec<Regex>,
    excluded: Vec<Regex>,
    excluded_topics: Vec<String>,
    excluded_services: Vec<String>,
}

impl Args {
    /// What the arguments mean.
    ///
    /// # Errors
    /// When a name is not valid, or a file cannot be read.
    pub fn plan(self, cli: &CliContext) -> Result<Plan, CliError> {
        let rules = self.remappings.iter().map(|text| rule(text)).collect::<Result<Vec<_>, _>>()?;
        let Shared { services, exclude_topics, exclude_services, .. } = self.shared;
        if self.shared.storage_config_file.is_some() {
            let why = "--storage-config-file is not supported: no format has settings. Try: without it";
            return Err(CliError::Usage(why.into()));
        }
        let overrides = qos_overrides::read(self.shared.qos_profile_overrides_path.as_deref())?;
        let requests = self.shared.service_requests_source.unwrap_or_default();
        let slashed = |topic: &String| format!("/{}", topic.strip_prefix('/').unwrap_or(topic));
        Ok(Plan {
            range: self.range,
            pace: Pace {
                rate: self.rate.unwrap_or(1.0),
                is_immediate: self.immediate,
                skip_empty: self.skip_empty,
                is_paused: self.pause,
            },
            clock: ClockOptions {
                rate: self.clock.map(|rate| self.hz.unwrap_or(rate)),
                topics: self.shared.clock_topics.iter().map(slashed).collect(),
                all_topics: self.shared.clock_topics_all,
            },
            remapping: Remapping::new(&rules, "/", "play")?,
            resolve: cli.remapping().clone(),
            prefix: self.prefix.unwrap_or_default(),
            bags: self.bags,
            loops: self.loops,
            delay: self.delay.unwrap_or(Duration::from_millis(200)),
            keeps_alive: self.keep_alive,
            waits_for_subscribers: self.wait_for_subscribers,
            reads_keys: !self.shared.disable_keyboard_controls,
            progress_period: self.shared.progress_bar_update_rate.unwrap_or_default(),
            is_quiet: self.quiet,
            linger: linger(self.shared.wait_for_all_acked),
            filter: self.filter,
            discovery: self.discovery,
            graph: self.graph.map(|graph| graph.generation()),
            rules: bridge_rules::read(&self.rules)?,
            overrides,
            requests: self.shared.publish_service_requests.then_some(requests),
            topics: TopicSelection {
                topics: self.topics,
                services,
                regexes: self.regex,
                excluded: self.exclude,
                excluded_topics: exclude_topics,
                excluded_services: exclude_services,
            },
            pause_topics: self.pause_topics,
        })
    }
}

impl Plan {
    /// The topic on which a channel is played; `None` if it is not selected.
    pub fn topic(&self, channel: &Channel) -> Option<String> {
        let name = &channel.topic;
        // The recorded clock would contradict that of the player.
        let is_own_clock = self.clock.is_used() && name == "/clock";
        if !self.topics.selects(channel) || is_own_clock {
            return None;
        }
        let prefixed = format!("{}{}", self.prefix, self.remapping.remap(name));
        Some(self.resolve.remap(&prefixed).to_owned())
    }

    /// Whether the player pauses before each message of a channel.
    pub fn pauses_before(&self, channel: &Channel) -> bool {
        self.pause_topics.iter().any(|topic| is_named(&channel.topic, topic))
    }
}

impl TopicSelection {
    fn selects(&self, channel: &Channel) -> bool {
        let topic = channel.topic.as_str();
        let service = requests::service_of(channel);
        let is_any = |regexes: &[Regex]| regexes.iter().any(|regex| regex.is_match(topic));
        let has = |names: &[String], name: &str| names.iter().any(|named| is_named(name, named));
        let is_excluded = match &service {
            Some(service) => has(&self.excluded_services, service) || has(&self.excluded_topics, topic),
            None => has(&self.excluded_topics, topic),
        };
        if is_excluded || is_any(&self.excluded) {
            return false;
        }
        // As in ros2 bag, --topics leaves services alone, and --services topics.
        let is_named = match &service {
            Some(service) => has(&self.services, service) || has(&self.topics, topic),
            None => has(&self.topics, topic),
        };
        let is_limited = match service {
            Some(_) => !self.services.is_empty(),
            None => !self.topics.is_empty(),
        };
        let selects_all = !is_limited && self.regexes.is_empty();
        selects_all || is_named || is_any(&self.regexes)
    }
}

/// Whether a topic or a service has this name, whose leading slash may be left out.
fn is_named(name: &str, named: &str) -> bool {
    name == named || name.strip_prefix('/') == Some(named)
}

fn linger(milliseconds: Option<u64>) -> Duration {
    match milliseconds {
        None => LINGER,
        Some(0) => LONGEST_LINGER,
        Some(milliseconds) => Duration::from_millis(milliseconds).min(LONGEST_LINGER),
    }
}

fn rule(text: &str) -> Result<RemapRule, CliError> {
    let (from, to) = text
        .split_once(":=")
        .ok_or_else(|| CliError::Usage(format!("{text} is no remapping, such as /scan:=/old_scan")))?;
    Ok(RemapRule { node: None, from: from.to_owned(), to: to.to_owned() })
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};

    use super::*;
    use crate::arguments::Arguments;

    fn plan(line: &str) -> Result<Plan, String> {
        let command = Args::augment_args(clap::Command::new("play"));
        let matches = command.try_get_matches_from(format!("play x.bag {line}").split_whitespace());
        let args = Args::from_arg_matches(&matches.map_err(|error| error.to_string())?).expect("parsed");
        let typed = ["runnel", "/odom:=/typed"].map(str::to_owned);
        let arguments = Arguments::split(typed.into()).expect("a good line");
        let cli = CliContext::new(arguments, true, Vec::new()).expect("sound");
        args.plan(&cli).map_err(|error| error.to_string())
    }

    fn topic(line: &str, name: &str) -> Option<String> {
        plan(line).expect("sound").topic(&Channel { topic: name.to_owned(), ..Channel::default() })
    }

    #[test]
    fn topics_are_selected_and_renamed() {
        assert_eq!(topic("", "/scan").as_deref(), Some("/scan"));
        assert_eq!(topic("-m scan:=/b /c:=d", "/scan").as_deref(), Some("/b"));
        assert_eq!(topic("-m scan:=/b /c:=d", "/c").as_deref(), Some("/d"));
        assert_eq!(topic("", "/odom").as_deref(), Some("/typed"), "arguments of ROS count too");
        assert_eq!(topic("--topics scan /odom", "/scan").as_deref(), Some("/scan"));
        assert_eq!(topic("--topics /odom", "/scan"), None);
        assert_eq!(topic("-x sc", "/scan"), None);
        assert_eq!((topic("", "/clock").is_some(), topic("--clock", "/clock")), (true, None));
        assert!(plan("-m a").is_err());
    }

    #[test]
    fn services_are_selected_by_their_names() {
        let played = |line: &str, topic: &str| {
            let type_name = if topic.ends_with("_event") { "std_srvs/srv/SetBool_Event" } else { "a/msg/B" };
            let encoding = runnel_bag::Encoding::Cdr;
            let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
            let channel = Channel { topic, type_name, encoding, ..Channel::default() };
            plan(line).expect("sound").topic(&channel).is_some()
        };
        let both = |line: &str| [played(line, "/scan"), played(line, "/power/_service_event")];
        assert_eq!(both(""), [true, true]);
        assert_eq!(both("--services /power"), [true, true]);
        assert_eq!(both("--services other"), [true, false]);
        assert_eq!(both("--topics /odom"), [false, true]);
        assert_eq!(both("--exclude-services power"), [true, false]);
        assert_eq!(both("--exclude-topics scan"), [false, true]);
    }

    #[test]
    fn prefix_comes_behind_the_remapping() {
        assert_eq!(topic("-m scan:=/b --prefix /old", "/scan").as_deref(), Some("/old/b"));
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        for line in [
            "--graph ros1 --ros2",
            "--rules x",
            "--clock --clock-topics /a",
            "--service-requests-source client_introspection",
            "--storage-config-file x",
        ] {
            assert!(plan(line).is_err(), "{line}");
        }
        assert_eq!(plan("--wait-for-all-acked 0").expect("sound").linger, LONGEST_LINGER);
    }

    #[test]
    fn rate_of_the_clock_follows_either_option() {
        let clock = |line: &str| plan(line).expect("sound").clock.rate;
        assert_eq!((clock(""), clock("--clock"), clock("--clock=7")), (None, Some(100.0), Some(7.0)));
        assert_eq!(clock("--clock --hz 50"), Some(50.0));
        assert!(plan("--hz 50").is_err() && plan("-r 0").is_err() && plan("-s -1").is_err());
    }
}
