//! The loggers of a node, in the graph that has the node's services for them.

use std::time::Duration;

use runnel::logging::Level;
use runnel::msgs::rcl_interfaces::msg::LoggerLevel;
use runnel::msgs::rcl_interfaces::srv::{
    GetLoggerLevels, GetLoggerLevelsRequest, SetLoggerLevels, SetLoggerLevelsRequest,
};
use runnel::msgs::roscpp::srv::{GetLoggers, GetLoggersRequest, SetLoggerLevel, SetLoggerLevelRequest};
use runnel::{Graphs, Node};

use super::line::ros2_level;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::{Finding, Found, Target};
use crate::originals::command_line::NODE_LIST;

/// How long a node may take to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The root logger of a node in ROS 1.
const ROS1_ROOT: &str = "ros";

/// A node's services for its loggers.
pub struct Loggers {
    node: String,
    asker: Node,
    is_ros2: bool,
}

/// A logger and its level, in lower case.
pub struct Logger {
    pub name: String,
    pub level: String,
}

impl Loggers {
    /// Those of the node that the user named.
    ///
    /// # Errors
    /// When no graph has such a node.
    pub fn of(cli: &CliContext, finding: &Finding, typed: &str) -> Result<Self, CliError> {
        let node = cli.resolve(typed)?;
        let in_ros1 = |node: String| {
            let asker = cli.node(&cli.query_context()?, "log")?;
            Ok(Self { node, asker, is_ros2: false })
        };
        if finding.is_only_ros1() {
            return in_ros1(node);
        }
        let [ros2_service, ros1_service] =
            ["get_logger_levels", "get_loggers"].map(|name| format!("{node}/{name}"));
        let context = cli.query_context_in(Graphs::Ros2)?;
        let target = Target {
            is_in_ros2: &|graph| graph.count_services(&ros2_service) > 0,
            is_in_ros1: &|graph: &Graph<'_>| Ok(graph.service_uri(&ros1_service)?.is_some()),
        };
        match finding.find(cli, &context, &target)? {
            Found::Ros1 => in_ros1(node),
            Found::Ros2(_) => Ok(Self { node, asker: cli.node(&context, "log")?, is_ros2: true }),
            Found::Nothing(why) => {
                let graph = context.ros2_graph()?.unwrap_or_default();
                let is_known = graph.nodes.iter().any(|known| known.full_name == node);
                Err(CliError::Failed(match (is_known, why) {
                    (true, _) => format!(
                        "node {node} has no services for its log levels: in ROS 2 its program starts them with the node \
                         option enable_logger_service"
                    ),
                    (false, Some(why)) => {
                        format!("no node {node} in ROS 2 (see '{NODE_LIST}'), and {why}")
                    }
                    (false, None) => format!("no node {node} with loggers (see '{NODE_LIST}')"),
                }))
            }
        }
    }

    /// The logger that is meant without a name: the root logger in ROS 1, that of the node in ROS 2.
    pub fn main(&self) -> String {
        if self.is_ros2 { self.ros2_name(&self.node) } else { ROS1_ROOT.to_owned() }
    }

    /// A name of a logger, which in ROS 2 may also be typed as a node.
    pub fn name(&self, typed: &str) -> String {
        if self.is_ros2 { self.ros2_name(typed) } else { typed.to_owned() }
    }

    fn ros2_name(&self, typed: &str) -> String {
        typed.strip_prefix('/').map_or_else(|| typed.to_owned(), |path| path.replace('/', "."))
    }

    /// The loggers, by name. In ROS 2 a node names no loggers but its own.
    ///
    /// # Errors
    /// When the node does not answer; the same holds for all methods.
    pub fn list(&self) -> Result<Vec<Logger>, CliError> {
        if self.is_ros2 {
            return Ok(self.get(&self.main())?.into_iter().collect());
        }
        let client = self.asker.create_client::<GetLoggers>(&format!("{}/get_loggers", self.node))?;
        let answer = client.call_timeout(&GetLoggersRequest::default(), CALL_TIMEOUT)?;
        let loggers = answer.loggers.into_iter();
        let mut loggers: Vec<Logger> =
            loggers.map(|logger| Logger { name: logger.name, level: logger.level }).collect();
        loggers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(loggers)
    }

    /// A logger; `None` if the node has none of this name.
    pub fn get(&self, name: &str) -> Result<Option<Logger>, CliError> {
        if !self.is_ros2 {
            return Ok(self.list()?.into_iter().find(|logger| logger.name == name));
        }
        let service = format!("{}/get_logger_levels", self.node);
        let request = GetLoggerLevelsRequest { names: vec![name.to_owned()] };
        let answer =
            self.asker.create_client::<GetLoggerLevels>(&service)?.call_timeout(&request, CALL_TIMEOUT)?;
        let found = answer.levels.into_iter().next();
        Ok(found.map(|LoggerLevel { name, level, .. }| Logger { name, level: ros2_text(level) }))
    }

    /// Sets the level of a logger.
    pub fn set(&self, name: &str, level: Level) -> Result<(), CliError> {
        if !self.is_ros2 {
            let service = format!("{}/set_logger_level", self.node);
            let client = self.asker.create_client::<SetLoggerLevel>(&service)?;
            // In lower case, as roscpp and rospy expect it.
            let request =
                SetLoggerLevelRequest { logger: name.to_owned(), level: level.name().to_lowercase() };
            client.call_timeout(&request, CALL_TIMEOUT)?;
            return Ok(());
        }
        let service = format!("{}/set_logger_levels", self.node);
        let wanted = LoggerLevel { name: name.to_owned(), level: level.ros2_number().into() };
        let request = SetLoggerLevelsRequest { levels: vec![wanted] };
        let answer =
            self.asker.create_client::<SetLoggerLevels>(&service)?.call_timeout(&request, CALL_TIMEOUT)?;
        match answer.results.into_iter().next() {
            Some(result) if !result.successful => Err(CliError::Failed(format!(
                "node {} does not set the level of logger {name}: {}",
                self.node, result.reason
            ))),
            _ => Ok(()),
        }
    }
}

/// A level of ROS 2 in lower case. Without a level of its own, a logger has that of the logger above it.
fn ros2_text(number: u32) -> String {
    if number == 0 { "unset".to_owned() } else { ros2_level(number).name().to_lowercase() }
}
