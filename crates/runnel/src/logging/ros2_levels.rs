//! Levels of a node's loggers as ROS 2 gets and sets them: the services `~/get_logger_levels` and
//! `~/set_logger_levels`.

use runnel_msgs::rcl_interfaces::msg::{LoggerLevel, SetLoggerLevelsResult};
use runnel_msgs::rcl_interfaces::srv::{
    GetLoggerLevelsRequest, GetLoggerLevelsResponse, SetLoggerLevelsRequest, SetLoggerLevelsResponse,
};

use crate::log_output::Level;
use crate::node_log::NodeLog;

impl NodeLog {
    /// The levels of these loggers by their ROS 2 names. One without a level of its own has level 0, as in rcl.
    pub(crate) fn get_logger_levels(&self, request: &GetLoggerLevelsRequest) -> GetLoggerLevelsResponse {
        let level = |name: &String| LoggerLevel {
            name: name.clone(),
            level: self.own_level(name).map_or(0, |level| level.ros2_number().into()),
        };
        GetLoggerLevelsResponse { levels: request.names.iter().map(level).collect() }
    }

    /// Sets levels, each on its own. Level 0 removes the logger's own level.
    pub(crate) fn set_logger_levels(&self, request: &SetLoggerLevelsRequest) -> SetLoggerLevelsResponse {
        let set = |wanted: &LoggerLevel| match self.set_ros2_level(wanted) {
            Ok(()) => SetLoggerLevelsResult { successful: true, reason: String::new() },
            Err(reason) => SetLoggerLevelsResult { successful: false, reason },
        };
        SetLoggerLevelsResponse { results: request.levels.iter().map(set).collect() }
    }

    fn set_ros2_level(&self, LoggerLevel { name, level }: &LoggerLevel) -> Result<(), String> {
        let known = Level::ALL.into_iter().find(|known| u32::from(known.ros2_number()) == *level);
        match (level, known) {
            (0, _) => self.unset_level(name),
            (_, Some(known)) => self.set_level_of_ros2_logger(name, known),
            (_, None) => {
                Err(format!("level {level} is not known: use 10, 20, 30, 40 or 50, or 0 to unset it"))
            }
        }
    }
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
        let read = |name| log.loggers.handle(name).load(std::sync::atomic::Ordering::Relaxed);
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
}
