//! Destinations and format of the lines of a context's nodes.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::console::{self, Stream};
use super::file::LogFile;
use super::format::Line;
use super::painted;

/// A format of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    /// As in `ROSCONSOLE_FORMAT`.
    Ros1(String),
    /// As in `RCUTILS_CONSOLE_OUTPUT_FORMAT`.
    Ros2(String),
}

impl Template {
    pub(crate) fn render(&self, line: &Line<'_>) -> String {
        match self {
            Self::Ros1(template) => line.render(template),
            Self::Ros2(template) => line.render_ros2(template),
        }
    }
}

/// The console output of a context's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsoleOutput {
    pub(crate) stream: Stream,
    pub(crate) has_colours: bool,
}

/// The file of a process in ROS 2, which all nodes of a context share. The first line creates it, so a program without
/// lines leaves no file.
#[derive(Debug)]
pub(crate) struct ProcessFile {
    path: PathBuf,
    opened: OnceLock<Result<LogFile, String>>,
    is_failure_reported: AtomicBool,
}

impl ProcessFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, opened: OnceLock::new(), is_failure_reported: AtomicBool::new(false) }
    }

    /// The file. `None` if it cannot be opened, which the first caller reports.
    fn get(&self) -> Option<&LogFile> {
        let open = || LogFile::open(self.path.clone()).map_err(|error| error.to_string());
        match self.opened.get_or_init(open) {
            Ok(file) => Some(file),
            Err(error) => {
                if !self.is_failure_reported.swap(true, Ordering::Relaxed) {
                    console::warning!("cannot log to {}: {error}", self.path.display());
                }
                None
            }
        }
    }
}

/// Destinations that the nodes of a context share.
#[derive(Debug)]
pub(crate) struct Destinations {
    /// `None` if lines do not go to the console.
    pub(crate) console: Option<ConsoleOutput>,
    /// The format on the console, and in the file of the process.
    pub(crate) template: Template,
    pub(crate) process_file: Option<ProcessFile>,
    /// The folder with a file for each node, as in ROS 1.
    pub(crate) folder: Option<PathBuf>,
}

impl Destinations {
    /// Writes a line to the console.
    pub(crate) fn write_to_console(&self, line: &Line<'_>) {
        if let Some(output) = &self.console {
            let text = self.template.render(line);
            let text = if output.has_colours { painted(line.level, text) } else { text };
            console::write_to(output.stream, &text);
        }
    }

    /// The file of the process.
    pub(crate) fn process_file(&self) -> Option<&LogFile> {
        self.process_file.as_ref().and_then(ProcessFile::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_file_is_created_by_first_use() {
        let folder = std::env::temp_dir().join(format!("runnel_log_process_{}", std::process::id()));
        let path = folder.join("a.log");
        let file = ProcessFile::new(path.clone());
        assert!(!path.exists());
        file.get().expect("opened").line("x").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), "x\n");
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn file_that_cannot_be_created_is_left_out() {
        let file = ProcessFile::new("/dev/null/no/folder/a.log".into());
        assert!(file.get().is_none() && file.get().is_none());
        assert!(file.is_failure_reported.load(Ordering::Relaxed));
    }
}
