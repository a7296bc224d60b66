//! What the arguments of `runnel bag play` mean.

use std::path::PathBuf;
use std::time::Duration;

use runnel::core::names::{RemapRule, Remapping};
use runnel::core::schema::Generation;
use runnel_bag::Channel;
use runnel_bridge::Rules;

use super::arguments::{Args, Shared};
use super::clocks::ClockOptions;
use super::player::Pace;
use super::progress::ProgressPeriod;
use super::rate_control::RateControlOptions;
use super::requests::RequestSource;
use super::sent_order::MessageOrder;
use super::topic_selection::{Names, TopicSelection, is_named};
use crate::bag::qos_overrides::{self, QosOverrides};
use crate::bag::time_range::PlayedRange;
use crate::bridge_rules;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};

/// For ever: `--wait-for-all-acked 0`.
const LONGEST_LINGER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How far the bag may be ahead of the rate control topic, as in `rosbag play`.
const RATE_CONTROL_DELAY: Duration = Duration::from_secs(1);

/// How many messages are put in order: as many as `ros2 bag play` reads ahead.
const DEFAULT_WINDOW: usize = 1000;

/// A playing: what, where and how.
#[derive(Debug)]
pub struct Plan {
    pub bags: Vec<PathBuf>,
    pub range: PlayedRange,
    pub pace: Pace,
    pub order: MessageOrder,
    /// How many messages are in memory to be put in order.
    pub window: usize,
    pub rate_control: Option<RateControlOptions>,
    pub clock: ClockOptions,
    pub loops: bool,
    pub delay: Duration,
    pub keeps_alive: bool,
    pub waits_for_subscribers: bool,
    pub reads_keys: bool,
    pub progress_period: ProgressPeriod,
    pub is_quiet: bool,
    /// How long the end waits for subscribers that have not received the last messages; `None` for the context's default.
    pub linger: Option<Duration>,
    pub filter: GraphFilter,
    pub discovery: Discovery,
    /// The graph of all messages, if they do not stay in their own.
    pub graph: Option<Generation>,
    pub rules: Rules,
    pub overrides: QosOverrides,
    /// If requests of services are sent instead of their events: which ones.
    pub requests: Option<RequestSource>,
    /// If goals of actions are sent instead of their topics: the events with the goals.
    pub goals: Option<RequestSource>,
    topics: TopicSelection,
    pause_topics: Vec<String>,
    prefix: String,
    remapping: Remapping,
    /// Names of all topics that are in arguments of ROS, by those in the bag.
    resolve: Remapping,
}

impl Args {
    /// What the arguments mean.
    ///
    /// # Errors
    /// When a name is not valid, or a file cannot be read.
    pub fn plan(self, cli: &CliContext) -> Result<Plan, CliError> {
        let rules = self.remappings.iter().map(|text| rule(text)).collect::<Result<Vec<_>, _>>()?;
        let Shared { services, actions, exclude_topics, exclude_services, exclude_actions, .. } = self.shared;
        if self.shared.storage_config_file.is_some() {
            let why = "--storage-config-file is not supported: no format has settings. Try: without it";
            return Err(CliError::Usage(why.into()));
        }
        let overrides = qos_overrides::read(self.shared.qos_profile_overrides_path.as_deref())?;
        let Shared { publish_service_requests, send_actions_as_client, service_requests_source, .. } =
            self.shared;
        if service_requests_source.is_some() && !publish_service_requests && !send_actions_as_client {
            let why = "--service-requests-source has no meaning without requests. Try: --publish-service-requests, or \
                       --send-actions-as-client";
            return Err(CliError::Usage(why.into()));
        }
        let source = service_requests_source.unwrap_or_default();
        let rate_control = self.rate_control_topic.as_ref().map(|topic| {
            let max_delay = self.rate_control_max_delay.unwrap_or(RATE_CONTROL_DELAY);
            Ok::<_, CliError>(RateControlOptions { topic: cli.resolve(topic)?, max_delay })
        });
        let slashed = |topic: &String| format!("/{}", topic.strip_prefix('/').unwrap_or(topic));
        Ok(Plan {
            range: self.range,
            pace: Pace {
                rate: self.rate.unwrap_or(1.0),
                is_immediate: self.immediate,
                skip_empty: self.skip_empty,
                is_paused: self.pause,
            },
            order: self.shared.message_order.unwrap_or_default(),
            window: self.shared.read_ahead_queue_size.unwrap_or(DEFAULT_WINDOW),
            rate_control: rate_control.transpose()?,
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
            linger: self.shared.wait_for_all_acked.map(linger),
            filter: self.filter,
            discovery: self.discovery,
            graph: self.graph.map(|graph| graph.generation()),
            rules: bridge_rules::read(&self.rules)?,
            overrides,
            requests: publish_service_requests.then_some(source),
            goals: send_actions_as_client.then_some(source),
            topics: TopicSelection {
                wanted: Names { topics: self.topics, services, actions },
                unwanted: Names {
                    topics: exclude_topics,
                    services: exclude_services,
                    actions: exclude_actions,
                },
                regexes: self.regex,
                excluded: self.exclude,
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

fn linger(milliseconds: u64) -> Duration {
    match milliseconds {
        0 => LONGEST_LINGER,
        _ => Duration::from_millis(milliseconds).min(LONGEST_LINGER),
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
    fn names_of_each_kind_are_selected() {
        let played = |line: &str, topic: &str| {
            let encoding = runnel_bag::Encoding::Cdr;
            let type_name = match topic {
                "/power/_service_event" => "std_srvs/srv/SetBool_Event",
                "/fib/_action/status" => "action_msgs/msg/GoalStatusArray",
                _ => "a/msg/B",
            };
            let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
            let channel = Channel { topic, type_name, encoding, ..Channel::default() };
            plan(line).expect("sound").topic(&channel).is_some()
        };
        let all = |line: &str| {
            ["/scan", "/power/_service_event", "/fib/_action/status"].map(|topic| played(line, topic))
        };
        assert_eq!(all(""), [true; 3]);
        assert_eq!(all("--topics /odom --services other --actions fib"), [false, false, true]);
        assert_eq!(all("--exclude-services power --exclude-actions fib"), [true, false, false]);
        assert_eq!(all("--actions other --exclude-topics scan"), [false, true, false]);
    }

    #[test]
    fn goals_and_requests_have_one_source() {
        let sources = |line: &str| plan(line).map(|plan| (plan.requests, plan.goals));
        let (of_server, of_client) =
            (RequestSource::ServiceIntrospection, RequestSource::ClientIntrospection);
        assert_eq!(sources(""), Ok((None, None)));
        assert_eq!(sources("--send-actions-as-client"), Ok((None, Some(of_server))));
        let both = "--send-actions-as-client --publish-service-requests --service-requests-source client_introspection";
        assert_eq!(sources(both), Ok((Some(of_client), Some(of_client))));
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
        assert_eq!(plan("--wait-for-all-acked 0").expect("sound").linger, Some(LONGEST_LINGER));
        assert_eq!(plan("").expect("sound").linger, None, "that of the environment");
    }

    #[test]
    fn order_and_rate_control_are_read() {
        let plan_of = |line: &str| plan(line).expect("sound");
        let default = plan_of("");
        assert_eq!(
            (default.order, default.window, default.rate_control),
            (MessageOrder::Received, 1000, None)
        );
        let sent = plan_of("--message-order sent --read-ahead-queue-size 5");
        assert_eq!((sent.order, sent.window), (MessageOrder::Sent, 5));
        let control = |line: &str| plan_of(line).rate_control.expect("requested");
        let options = |topic: &str, seconds| RateControlOptions {
            topic: topic.to_owned(),
            max_delay: Duration::from_secs_f64(seconds),
        };
        assert_eq!(control("--rate-control-topic done"), options("/done", 1.0));
        let both = "--rate-control-topic /done --rate-control-max-delay 0.5";
        assert_eq!(control(both), options("/done", 0.5));
        for line in ["--rate-control-max-delay 1", "--read-ahead-queue-size 0", "--message-order x"] {
            assert!(plan(line).is_err(), "{line}");
        }
    }

    #[test]
    fn rate_of_the_clock_follows_either_option() {
        let clock = |line: &str| plan(line).expect("sound").clock.rate;
        assert_eq!((clock(""), clock("--clock"), clock("--clock=7")), (None, Some(100.0), Some(7.0)));
        assert_eq!(clock("--clock --hz 50"), Some(50.0));
        assert!(plan("--hz 50").is_err() && plan("-r 0").is_err() && plan("-s -1").is_err());
    }
}
