//! Destinations and format of log lines, from the environment and the command line.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use runnel_core::names::Arguments;
use runnel_io::{clock, host};

use super::Graphs;
use crate::error::Error;
use crate::log_output::console::Stream;
use crate::log_output::destinations::{ConsoleOutput, Destinations, ProcessFile, Template};
use crate::log_output::{format, rcutils};
use crate::settings::variables::variable;

const ROS1_FORMAT: &str = "ROSCONSOLE_FORMAT";
const ROS2_FORMAT: &str = "RCUTILS_CONSOLE_OUTPUT_FORMAT";
const COLOURS: &str = "RCUTILS_COLORIZED_OUTPUT";
const USE_STDOUT: &str = "RCUTILS_LOGGING_USE_STDOUT";
const BUFFERED: &str = "RCUTILS_LOGGING_BUFFERED_STREAM";
const FOLDER: &str = "ROS_LOG_DIR";
const HOME: &str = "ROS_HOME";

/// Reads the destinations of the nodes of a context. Nodes in both graphs log as in ROS 2, except that a line has the
/// ROS 1 format unless the ROS 2 variable is set. `log_file` is what the program requests.
///
/// # Errors
/// If a ROS 2 variable has an unknown value.
pub(crate) fn destinations(
    arguments: &Arguments,
    graphs: Graphs,
    log_file: bool,
) -> Result<Destinations, Error> {
    let is_in_ros2 = graphs != Graphs::Ros1;
    let console = if is_in_ros2 { ros2_console()? } else { ConsoleOutput::ros1() };
    let has_file = log_file && !arguments.disable_external_lib_logs;
    let process_file = (is_in_ros2 && has_file).then(|| process_file(arguments.log_file_name.as_deref()));
    let folder = variable(FOLDER).filter(|_| !is_in_ros2 && has_file);
    Ok(Destinations {
        console: (!arguments.disable_stdout_logs).then_some(console),
        template: template(graphs, variable(ROS2_FORMAT), env::var(ROS1_FORMAT).ok()),
        process_file: process_file.flatten().map(ProcessFile::new),
        folder: folder.map(PathBuf::from),
    })
}

fn template(graphs: Graphs, ros2: Option<String>, ros1: Option<String>) -> Template {
    match (graphs, ros2) {
        (Graphs::Ros2 | Graphs::Both, Some(template)) => Template::Ros2(template),
        (Graphs::Ros2, None) => Template::Ros2(rcutils::DEFAULT_TEMPLATE.to_owned()),
        _ => Template::Ros1(ros1.unwrap_or_else(|| format::DEFAULT_TEMPLATE.to_owned())),
    }
}

impl ConsoleOutput {
    /// Standard error, with colours on a terminal.
    fn ros1() -> Self {
        Self { stream: Stream::StandardError, has_colours: has_colours(Stream::StandardError) }
    }
}

/// Reads the variables of rcutils. Each line is written at once, so buffered and unbuffered streams are the same.
fn ros2_console() -> Result<ConsoleOutput, Error> {
    let read = |name| switch(name, variable(name).as_deref());
    let stream = if read(USE_STDOUT)? == Some(true) { Stream::StandardOutput } else { Stream::StandardError };
    read(BUFFERED)?;
    Ok(ConsoleOutput { stream, has_colours: read(COLOURS)?.unwrap_or_else(|| has_colours(stream)) })
}

fn switch(variable: &'static str, value: Option<&str>) -> Result<Option<bool>, Error> {
    match value {
        None => Ok(None),
        Some("0") => Ok(Some(false)),
        Some("1") => Ok(Some(true)),
        Some(other) => Err(Error::Environment { variable, why: format!("{other:?} is neither 0 nor 1") }),
    }
}

fn has_colours(stream: Stream) -> bool {
    let is_terminal = match stream {
        Stream::StandardError => io::stderr().is_terminal(),
        Stream::StandardOutput => io::stdout().is_terminal(),
    };
    is_terminal && env::var_os("NO_COLOR").is_none()
}

/// The path of the process's log file; `None` if the user has no home folder.
fn process_file(name: Option<&str>) -> Option<PathBuf> {
    let folder = log_folder(variable(FOLDER), variable(HOME), variable("HOME"))?;
    let program =
        || env::args_os().next().map(PathBuf::from).and_then(|path| Some(path.file_name()?.to_owned()));
    let program =
        || program().map_or_else(|| "runnel".to_owned(), |name| name.to_string_lossy().into_owned());
    let name = name.map_or_else(program, str::to_owned);
    let millis = clock::realtime().as_nanos() / 1_000_000;
    Some(folder.join(format!("{name}_{}_{millis}.log", host::pid())))
}

/// The folder of log files in ROS 2: `ROS_LOG_DIR`, else `log` in `ROS_HOME`, else `~/.ros/log`. A tilde at the
/// beginning is the user's home folder.
fn log_folder(folder: Option<String>, ros_home: Option<String>, home: Option<String>) -> Option<PathBuf> {
    let folder = folder.map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(ros_home.unwrap_or_else(|| "~/.ros".into())).join("log"));
    match folder.strip_prefix("~") {
        Ok(below) => home.map(|home| PathBuf::from(home).join(below)),
        Err(_) => Some(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_folder_follows_rcl_order() {
        let folder = |folder: Option<&str>, ros_home: Option<&str>, home: Option<&str>| {
            let [folder, ros_home, home] = [folder, ros_home, home].map(|text| text.map(str::to_owned));
            log_folder(folder, ros_home, home).map(|path| path.display().to_string())
        };
        let home = Some("/home/me");
        assert_eq!(folder(Some("/a"), Some("/b"), home).as_deref(), Some("/a"));
        assert_eq!(folder(None, Some("/b"), home).as_deref(), Some("/b/log"));
        assert_eq!(folder(None, None, home).as_deref(), Some("/home/me/.ros/log"));
        assert_eq!(folder(Some("~/logs"), None, home).as_deref(), Some("/home/me/logs"));
        assert_eq!(folder(None, Some("~"), home).as_deref(), Some("/home/me/log"));
        assert_eq!(folder(None, None, None), None);
    }

    #[test]
    fn format_follows_graphs() {
        let text = |text: &str| Some(text.to_owned());
        let (ros1, ros2) =
            (|text: &str| Template::Ros1(text.into()), |text: &str| Template::Ros2(text.into()));
        assert_eq!(template(Graphs::Ros1, text("2"), text("1")), ros1("1"));
        assert_eq!(template(Graphs::Ros2, text("2"), text("1")), ros2("2"));
        assert_eq!(template(Graphs::Both, text("2"), text("1")), ros2("2"));
        assert_eq!(template(Graphs::Both, None, text("1")), ros1("1"));
        assert_eq!(template(Graphs::Both, None, None), ros1(format::DEFAULT_TEMPLATE));
        assert_eq!(template(Graphs::Ros2, None, text("1")), ros2(rcutils::DEFAULT_TEMPLATE));
    }

    #[test]
    fn unknown_switch_value_is_refused() {
        assert_eq!(switch(COLOURS, None).unwrap(), None);
        assert_eq!(switch(COLOURS, Some("0")).unwrap(), Some(false));
        assert_eq!(switch(COLOURS, Some("1")).unwrap(), Some(true));
        let refused = switch(COLOURS, Some("yes")).unwrap_err().to_string();
        assert!(refused.contains(COLOURS) && refused.contains("\"yes\" is neither 0 nor 1"), "{refused}");
    }

    #[test]
    fn log_file_is_named_after_program_process_and_time() {
        let path = process_file(Some("talker")).expect("a home folder");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let begin = format!("talker_{}_1", std::process::id());
        assert!(name.starts_with(&begin) && name.ends_with(".log"), "{name}");
    }
}
