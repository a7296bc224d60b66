//! Levels of a node's loggers as ROS 2 gets and sets them: the services `~/get_logger_levels` and
//! `~/set_logger_levels`.

use std::sync::atomic::Ordering;

use runnel_msgs::rcl_interfaces::msg::{LoggerLevel, SetLoggerLevelsResult};
use runnel_msgs::rcl_interfaces::srv::{
    GetLoggerLevelsRequest, GetLoggerLevelsResponse, SetLoggerLevelsRequest, SetLoggerLevelsResponse,
};

use crate::log_output::Level;
use crate::log_output::loggers::MOST;
use crate::node_log::NodeLog;

impl NodeLog {
    /// The levels of these loggers by their ROS 2 names. One without a level of its own has level 0, as in rcl. A request
    /// for more loggers than there can be gets none.
    pub(crate) fn get_logger_levels(&self, request: &GetLoggerLevelsRequest) -> GetLoggerLevelsResponse {
        if let Err(why) = check_count(request.names.len()) {
            self.log_over_limit("get_logger_levels", &why);
            return GetLoggerLevelsResponse::default();
        }
        let level = |name: &String| LoggerLevel {
            name: name.clone(),
            level: self.own_level(name).map_or(0, |level| level.ros2_number().into()),
        };
        GetLoggerLevelsResponse { levels: request.names.iter().map(level).collect() }
    }

    /// Sets levels, each on its own. Level 0 removes the logger's own level. A request for more loggers than there can be
    /// sets none: its answer is one result with the reason.
    pub(crate) fn set_logger_levels(&self, request: &SetLoggerLevelsRequest) -> SetLoggerLevelsResponse {
        if let Err(reason) = check_count(request.levels.len()) {
            self.log_over_limit("set_logger_levels", &reason);
            return SetLoggerLevelsResponse { results: vec![result(Err(reason))] };
        }
        let wanted: Vec<_> = request.levels.iter().map(|one| (one.name.as_str(), level(one.level))).collect();
        let known: Vec<_> =
            wanted.iter().filter_map(|(name, level)| Some((*name, *level.as_ref().ok()?))).collect();
        let mut set = self.set_levels_of_ros2_loggers(&known).into_iter();
        let results =
            wanted.into_iter().map(|(_, level)| result(level.and_then(|_| set.next().unwrap_or(Ok(())))));
        SetLoggerLevelsResponse { results: results.collect() }
    }

    fn log_over_limit(&self, service: &str, why: &str) {
        if !self.is_over_limit_logged.swap(true, Ordering::Relaxed) {
            let line =
                format_args!("service {service}: {why}. Further requests over the limit are not logged");
            self.log_library(log::Level::Warn, line);
        }
    }
}

/// # Errors
/// If a request is for more loggers than there can be.
fn check_count(count: usize) -> Result<(), String> {
    if count <= MOST {
        Ok(())
    } else {
        Err(format!("the request is for {count} loggers, and the limit is {MOST}"))
    }
}

/// The level of a number in a request; `None` for 0, which unsets it.
///
/// # Errors
/// If there is no such level.
fn level(number: u32) -> Result<Option<Level>, String> {
    let known = Level::ALL.into_iter().find(|known| u32::from(known.ros2_number()) == number);
    match (number, known) {
        (0, _) => Ok(None),
        (_, Some(known)) => Ok(Some(known)),
        (_, None) => Err(format!("level {number} is not known: use 10, 20, 30, 40 or 50, or 0 to unset it")),
    }
}

fn result(set: Result<(), String>) -> SetLoggerLevelsResult {
    SetLoggerLevelsResult { successful: set.is_ok(), reason: set.err().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_log::test_log;

    fn get(log: &NodeLog, name: &str) -> u32 {
        let request = GetLoggerLevelsRequest { names: vec![name.to_owned()] };
        let response = log.get_logger_levels(&request);
        assert_eq!(response.levels[0].name, name);
        response.levels[0].level
    }

    fn set(log: &NodeLog, name: &str, level: u32) -> SetLoggerLevelsResult {
        let levels = vec![LoggerLevel { name: name.to_owned(), level }];
        log.set_logger_levels(&SetLoggerLevelsRequest { levels }).results.remove(0)
    }

    #[test]
    fn levels_are_set_by_ros2_names() {
        let log = test_log("/robot/camera");
        assert_eq!([get(&log, "robot.camera"), get(&log, "robot.camera.driver"), get(&log, "rcl")], [0; 3]);
        assert!(set(&log, "robot.camera", 10).successful);
        assert!(set(&log, "robot.camera.driver", 40).successful);
        assert_eq!([get(&log, "robot.camera"), get(&log, "robot.camera.driver")], [10, 40]);
        let read = |name| log.loggers.handle(name).load(Ordering::Relaxed);
        assert_eq!([read("ros"), read("ros.driver"), read("ros.other")], [1, 8, 1]);
        assert!(set(&log, "robot.camera.driver", 0).successful);
        assert_eq!((get(&log, "robot.camera.driver"), read("ros.driver")), (0, 1));
    }

    #[test]
    fn logger_of_another_name_keeps_its_level() {
        let log = test_log("/camera");
        assert!(set(&log, "rclcpp", 50).successful);
        assert_eq!((get(&log, "rclcpp"), get(&log, "camera")), (50, 0));
    }

    #[test]
    fn unknown_level_is_refused() {
        let log = test_log("/camera");
        for level in [1, 11, 60, u32::MAX] {
            let result = set(&log, "camera", level);
            assert!(
                !result.successful && result.reason.starts_with(&format!("level {level} ")),
                "{result:?}"
            );
        }
        assert_eq!(get(&log, "camera"), 0);
        assert!(!set(&log, &"x".repeat(300), 10).successful);
    }

    #[test]
    fn request_over_limit_is_answered_with_reason() {
        let log = test_log("/camera");
        let levels = vec![LoggerLevel { name: "camera".into(), level: 10 }; MOST + 1];
        let results = log.set_logger_levels(&SetLoggerLevelsRequest { levels }).results;
        let expected = "the request is for 1001 loggers, and the limit is 1000";
        assert_eq!((results.len(), results[0].successful, &*results[0].reason), (1, false, expected));
        assert_eq!(get(&log, "camera"), 0);
        let names = vec!["camera".to_owned(); MOST + 1];
        assert!(log.get_logger_levels(&GetLoggerLevelsRequest { names }).levels.is_empty());
    }
}
