//! Results of a drive: laps, latencies, memory, and the page.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use line_trace::lap::Lap;
use line_trace::latency::{Joined, Row, Statistics, table};
use line_trace::memory::{self, Memory};
use line_trace::page::{self, Drive};
use line_trace::track::Track;
use serde_json::{Value as Json, json};

use super::drive::Finished;
use super::recording::Recorded;
use crate::output;

/// Label of the measured latencies.
const WIRE: &str = "Runnel";

/// Most pages in one folder.
const MOST_PAGES: u32 = 9999;

/// The report on a drive.
pub struct Report<'a> {
    finished: &'a Finished,
    page: PathBuf,
    recorded: Option<Recorded>,
}

impl<'a> Report<'a> {
    /// The report on a drive with this page.
    pub fn new(finished: &'a Finished, page: PathBuf, recorded: Option<Recorded>) -> Self {
        Self { finished, page, recorded }
    }

    /// For people, in lines of at most 80 columns except for paths.
    pub fn text(&self) -> String {
        let mut text = output::lines(self.finished.laps.iter().map(Lap::to_string));
        if text.is_empty() {
            text.push_str("no lap was finished\n");
        }
        for (topic, joined) in &self.finished.latencies {
            let row = Row { label: WIRE.to_owned(), joined: joined.clone() };
            text.push_str(&format!("\n{}", table(topic, &[row])));
        }
        if cfg!(debug_assertions) {
            text.push_str("This program was built without optimization: --release makes it faster.\n");
        }
        text.push_str(&format!("\n{}", memory::table(&self.finished.usages)));
        if let Some(Recorded { file, messages, lost }) = &self.recorded {
            text.push_str(&format!("\n{messages} messages recorded in {}, {lost} lost\n", file.display()));
        }
        text.push_str(&format!(
            "\nNext:\n  open {} in a browser: path, speed and latencies\n  \
             write a node of your own: docs/tutorial.md, or \"A first node\" in README.md\n",
            self.page.display()
        ));
        text
    }

    /// For programs.
    pub fn json(&self) -> Json {
        let latencies = self.finished.latencies.iter();
        let usages = self.finished.usages.iter();
        json!({
            "laps": self.finished.laps.iter().map(lap_json).collect::<Vec<_>>(),
            "latency": latencies.map(|(topic, of)| ((*topic).to_owned(), latency_json(of))).collect::<serde_json::Map<_, _>>(),
            "processes": usages.map(|(name, usage)| usage_json(name, *usage)).collect::<Vec<_>>(),
            "optimized": !cfg!(debug_assertions),
            "page": self.page.display().to_string(),
            "bag": self.recorded.as_ref().map(|Recorded { file, messages, lost }| {
                json!({ "file": file.display().to_string(), "messages": messages, "lost": lost })
            }),
        })
    }
}

/// Writes the page about the drive into a new file of this folder, and returns it.
///
/// # Errors
/// When the file cannot be written. The error names it.
pub fn write_page(
    title: &str,
    track: &Track,
    finished: &Finished,
    folder: &Path,
) -> Result<PathBuf, (PathBuf, io::Error)> {
    let Finished { laps, path, usages, latencies } = finished;
    let html = page::html(&Drive { title, track, laps, path, latencies, processes: usages });
    let (mut file, name) = new_page(folder)?;
    file.write_all(html.as_bytes()).map_err(|error| (name.clone(), error))?;
    Ok(name)
}

/// Creates the first of `line_trace.html`, `line_trace-2.html` and so on that does not exist.
fn new_page(folder: &Path) -> Result<(File, PathBuf), (PathBuf, io::Error)> {
    let mut number = 1;
    loop {
        let name = match number {
            1 => folder.join("line_trace.html"),
            _ => folder.join(format!("line_trace-{number}.html")),
        };
        match File::create_new(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_PAGES => number += 1,
            Err(error) => return Err((name, error)),
        }
    }
}

fn lap_json(lap: &Lap) -> Json {
    json!({
        "number": lap.number,
        "seconds": lap.seconds,
        "metres_per_second": lap.speed,
        "mean_deviation_metres": lap.deviation.mean(),
        "max_deviation_metres": lap.deviation.max(),
    })
}

fn latency_json(joined: &Joined) -> Json {
    let of = Statistics::of(&joined.latencies_ns);
    let figure = |figure: fn(&Statistics) -> f64| of.as_ref().map(figure);
    json!({
        "messages": joined.latencies_ns.len(),
        "lost": joined.missing,
        "unmatched": joined.unmatched,
        "average_us": figure(|of| of.average),
        "min_us": figure(|of| of.min),
        "median_us": figure(|of| of.median),
        "p99_us": figure(|of| of.p99),
        "max_us": figure(|of| of.max),
        "deviation_us": figure(|of| of.deviation),
    })
}

fn usage_json(name: &str, memory: Option<Memory>) -> Json {
    json!({
        "name": name,
        "resident_kb": memory.map(|memory| memory.resident),
        "shared_kb": memory.map(|memory| memory.shared),
        "proportional_kb": memory.and_then(|memory| memory.proportional),
        "threads": memory.map(|memory| memory.threads),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_of_an_earlier_drive_is_kept() {
        let folder = std::env::temp_dir().join(format!("runnel-pages-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let names = || new_page(&folder).map(|(_, name)| name).expect("a page");
        let named = |name: &str| folder.join(name);
        assert_eq!(names(), named("line_trace.html"));
        assert_eq!(names(), named("line_trace-2.html"));
        assert_eq!(names(), named("line_trace-3.html"));
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
