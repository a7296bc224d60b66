//! What a drive comes to: laps, latencies, memory, and the picture.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use line_trace::lap::Lap;
use line_trace::latency::{Joined, Row, Statistics, table};
use line_trace::picture;
use line_trace::track::Track;
use serde_json::{Value as Json, json};

use super::drive::Finished;
use super::usage::Usage;
use crate::output;

/// What carried the messages: by shared memory, unless `RUNNEL_IPC` has them stay on the network.
const WIRE: &str = "Runnel, ROS 1";

/// What is told of a drive at its end.
pub struct Report<'a> {
    finished: &'a Finished,
    picture: PathBuf,
}

impl<'a> Report<'a> {
    /// The report on a drive whose picture was written there.
    pub fn new(finished: &'a Finished, picture: PathBuf) -> Self {
        Self { finished, picture }
    }

    /// For people, in lines of at most 80 columns but for the picture's place.
    pub fn text(&self) -> String {
        let mut text = output::lines(self.finished.laps.iter().map(Lap::to_string));
        for (topic, joined) in &self.finished.latencies {
            let row = Row { label: WIRE.to_owned(), joined: joined.clone() };
            text.push_str(&format!("\n{}", table(topic, &[row])));
        }
        if cfg!(debug_assertions) {
            text.push_str("This program was built without optimization: --release makes it faster.\n");
        }
        text.push_str(&format!("\n{}", usage_table(&self.finished.usages)));
        text.push_str(&format!("\nThe robot's path is drawn in {}\n", self.picture.display()));
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
            "picture": self.picture.display().to_string(),
        })
    }
}

/// Draws the path, with the figures of the last lap.
///
/// # Errors
/// When the file cannot be written.
pub fn write_picture(track: &Track, finished: &Finished, file: &Path) -> io::Result<()> {
    let detail = finished.laps.last().map(Lap::to_string).unwrap_or_default();
    let title = "line trace: path of the sensor row";
    picture::write_png(track, &finished.path, title, &detail, BufWriter::new(File::create(file)?))
}

fn usage_table(usages: &[(&str, Option<Usage>)]) -> String {
    let kilobytes = |kilobytes: u64| format!("{:.2} MB", kilobytes as f64 / 1024.0);
    let row = |(name, usage): &(&str, Option<Usage>)| {
        let figures = match usage {
            Some(Usage { resident, proportional, threads }) => {
                let proportional = proportional.map_or("-".to_owned(), kilobytes);
                [kilobytes(*resident), proportional, threads.to_string()]
            }
            None => std::array::from_fn(|_| "-".to_owned()),
        };
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    output::table(&["Process", "VmRSS", "Pss", "threads"], &usages.iter().map(row).collect::<Vec<_>>())
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

fn usage_json(name: &str, usage: Option<Usage>) -> Json {
    json!({
        "name": name,
        "resident_kb": usage.map(|usage| usage.resident),
        "proportional_kb": usage.and_then(|usage| usage.proportional),
        "threads": usage.map(|usage| usage.threads),
    })
}
