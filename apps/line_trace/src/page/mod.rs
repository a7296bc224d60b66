//! The page of a drive: one self-contained HTML file without scripts, for light and dark screens.

mod chart;
mod floor;

use crate::lap::Lap;
use crate::latency::{self, Joined, Statistics, at_rank};
use crate::memory::{self, Process};
use crate::progress::PathPoint;
use crate::track::Track;
use chart::{Axis, Chart};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// Height of a chart.
const TALL: f64 = 240.0;
/// Height of a row of the latency chart, and the space around the rows.
const ROW: f64 = 76.0;
const AROUND_ROWS: f64 = 60.0;
/// Bars of a histogram.
const BARS: usize = 40;

/// The data of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Drive<'a> {
    /// A short title.
    pub title: &'a str,
    /// The track.
    pub track: &'a Track,
    /// The laps.
    pub laps: &'a [Lap],
    /// The path of the robot.
    pub path: &'a [PathPoint],
    /// The messages of each topic.
    pub latencies: &'a [(&'static str, Joined)],
    /// Memory use of each process.
    pub processes: &'a [Process],
}

/// The page.
pub fn html(drive: &Drive<'_>) -> String {
    let title = escaped(drive.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<p>A simulated Raspberry Pi Mouse, traced by <code>runnel demo</code>.</p>\n"
    );
    add_path(&mut page, drive);
    add_latencies(&mut page, drive.latencies);
    add_memory(&mut page, drive.processes);
    add_comparison(&mut page, drive.latencies);
    page.push_str("</body>\n</html>\n");
    page
}

fn add_path(page: &mut String, drive: &Drive<'_>) {
    page.push_str("<h2>The driven path</h2>\n");
    let caption = "The middle of the sensor row, coloured by speed.";
    figure(page, "path", &floor::svg(drive.track, drive.path), caption);
    add_charts_along_the_line(page, drive);
    add_laps(page, drive);
}

fn add_laps(page: &mut String, drive: &Drive<'_>) {
    if drive.laps.is_empty() {
        page.push_str("<p>No lap was finished.</p>\n");
        return;
    }
    let rows = drive.laps.iter().map(|lap| {
        let (mean, max) = (lap.deviation.mean() * 1e3, lap.deviation.max() * 1e3);
        [
            lap.number.to_string(),
            format!("{:.2} s", lap.seconds),
            format!("{:.3} m/s", lap.speed),
            format!("{mean:.1} mm"),
            format!("{max:.1} mm"),
        ]
    });
    table(page, "laps", ["lap", "time", "speed", "off the line: mean", "max"], rows.collect());
}

fn add_charts_along_the_line(page: &mut String, drive: &Drive<'_>) {
    let length = drive.track.course().length();
    let along = (Axis::exactly(0.0, length), "metres along the line");
    let fastest = drive.path.iter().map(|point| point.speed).fold(0.1, f64::max);
    let mut speed = Chart::new(TALL, along, (Axis::even(0.0, fastest), "metres per second"));
    let farthest = drive.path.iter().map(|point| point.deviation.abs() * 1e3).fold(1.0, f64::max);
    let mut deviations =
        Chart::new(TALL, along, (Axis::even(-farthest, farthest), "millimetres to the left"));
    for lap in drive.path.chunk_by(|a, b| (b.progress - a.progress).abs() < length / 2.0) {
        speed.line("lap", lap.iter().map(|point| (point.progress, point.speed)));
        deviations.line("lap", lap.iter().map(|point| (point.progress, point.deviation * 1e3)));
    }
    figure(page, "speed", &speed.svg("speed along the line"), "Speed along the line, a curve a lap.");
    let caption = "Distance from the line, one curve per lap.";
    figure(page, "deviation", &deviations.svg("distance from the line"), caption);
}

fn add_latencies(page: &mut String, latencies: &[(&'static str, Joined)]) {
    page.push_str("<h2>Latency of the messages</h2>\n<p>From before publishing to the callback in another process.</p>\n");
    add_latency_figures(page, latencies);
    let rows = latencies.iter().map(|(topic, joined)| {
        let of = Statistics::of(&joined.latencies_ns);
        let figure = |figure: fn(&Statistics) -> f64| {
            of.as_ref().map_or("-".to_owned(), |of| format!("{:.1}", figure(of)))
        };
        [
            (*topic).to_owned(),
            figure(|of| of.median),
            figure(|of| of.p99),
            figure(|of| of.min),
            figure(|of| of.max),
            figure(|of| of.average),
            joined.latencies_ns.len().to_string(),
            joined.missing.to_string(),
        ]
    });
    let heads = ["microseconds", "median", "p99", "min", "max", "average", "messages", "lost"];
    table(page, "latencies", heads, rows.collect());
}

fn add_latency_figures(page: &mut String, latencies: &[(&'static str, Joined)]) {
    let known: Vec<(&str, Sorted)> =
        latencies.iter().filter_map(|(topic, joined)| Some((*topic, Sorted::of(joined)?))).collect();
    if !known.is_empty() {
        let caption = "Boxes hold the middle half of the messages, whiskers 98 of 100.";
        figure(page, "latency", &boxes(&known), caption);
    }
    for (topic, sorted) in &known {
        let drawn = histogram(sorted, &format!("how many messages of {topic} took how long"));
        let caption = format!("Messages of <code>{topic}</code> by latency.");
        figure(page, topic.trim_start_matches('/'), &drawn, &caption);
    }
}

fn add_memory(page: &mut String, processes: &[Process]) {
    page.push_str("<h2>Memory of the processes</h2>\n");
    let heads = memory::heads("process");
    table(
        page,
        "memory",
        heads.each_ref().map(String::as_str),
        processes.iter().map(memory::figures).collect(),
    );
}

/// Adds the published averages next to this drive's average of the same topic.
fn add_comparison(page: &mut String, latencies: &[(&'static str, Joined)]) {
    let measured = latencies.iter().find(|(topic, _)| *topic == latency::PUBLISHED_TOPIC);
    let Some(measured) = measured.and_then(|(_, joined)| Statistics::of(&joined.latencies_ns)) else {
        return;
    };
    let _ = writeln!(
        page,
        "<h2>Comparison with a published study</h2>\n<p>Average latency of <code>{}</code>, in this drive and in a 2024 thesis on \
         mROS 2, which was measured on other computers. Memory is not compared here: each process of this drive is the \
         whole command <code>runnel</code>, and the thesis measured single nodes.</p>",
        latency::PUBLISHED_TOPIC
    );
    let own = ["Runnel, this drive".to_owned(), format!("{:.1}", measured.average)];
    let published = latency::PUBLISHED
        .iter()
        .map(|published| [format!("{}, published", published.label), format!("{:.1}", published.average)]);
    let rows = [own].into_iter().chain(published).collect();
    table(page, "published", ["microseconds", "average"], rows);
}

/// Sorted latencies of a topic in microseconds; at least one.
struct Sorted(Vec<f64>);

impl Sorted {
    fn of(joined: &Joined) -> Option<Self> {
        let mut sorted: Vec<f64> =
            joined.latencies_ns.iter().map(|ns| (*ns as f64 / 1e3).max(0.01)).collect();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then_some(Self(sorted))
    }

    /// The value that this share of the messages did not exceed.
    fn at(&self, share: f64) -> f64 {
        at_rank(&self.0, share)
    }
}

fn boxes(known: &[(&str, Sorted)]) -> String {
    let least = known.iter().map(|(_, sorted)| sorted.at(0.01)).fold(f64::INFINITY, f64::min);
    let most = known.iter().map(|(_, sorted)| sorted.at(0.99)).fold(0.0, f64::max);
    let names: Vec<&str> = known.iter().map(|(topic, _)| *topic).collect();
    let height = ROW * names.len() as f64 + AROUND_ROWS;
    let mut chart = Chart::of_rows(height, (Axis::logarithmic(least, most), "microseconds"), &names);
    for (row, (topic, sorted)) in known.iter().enumerate() {
        let values = [0.01, 0.25, 0.5, 0.75, 0.99].map(|share| sorted.at(share));
        let [least, low, middle, high, most] = values;
        let tooltip =
            format!("{topic}: p1 {least:.1}, p25 {low:.1}, p50 {middle:.1}, p75 {high:.1}, p99 {most:.1} us");
        chart.quartiles(row, values, &tooltip);
    }
    chart.svg("latencies of the topics as boxes")
}

/// A histogram with bars of equal ratio on a logarithmic axis, which shows many fast messages and few slow ones.
fn histogram(sorted: &Sorted, label: &str) -> String {
    let axis = Axis::logarithmic(sorted.at(0.0), sorted.at(1.0));
    let mut counts = [0_u32; BARS];
    for latency in &sorted.0 {
        let bar = (axis.share(*latency) * BARS as f64) as usize;
        counts[bar.min(BARS - 1)] += 1;
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
    let mut chart = Chart::new(TALL, (axis, "microseconds"), (Axis::even(0.0, most), "messages"));
    for (index, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let [from, to] = [index, index + 1].map(|end| axis.at(end as f64 / BARS as f64));
        chart.bar((from, to), f64::from(count), &format!("{count} from {from:.1} to {to:.1} us"));
    }
    chart.svg(label)
}

fn figure(page: &mut String, id: &str, svg: &str, caption: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "<figure id=\"{id}\">\n{svg}<figcaption>{caption}</figcaption>\n</figure>");
}

fn table<const N: usize>(page: &mut String, id: &str, heads: [&str; N], rows: Vec<[String; N]>) {
    let _ = write!(page, "<div class=\"wide\"><table id=\"{id}\">\n<tr>");
    page.push_str(&heads.map(|head| format!("<th>{head}</th>")).concat());
    page.push_str("</tr>\n");
    for row in rows {
        let cells = row.map(|cell| format!("<td>{}</td>", escaped(&cell))).concat();
        let _ = writeln!(page, "<tr>{cells}</tr>");
    }
    page.push_str("</table></div>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::operator::Beginning;
    use crate::sim::Simulation;

    fn page(title: &str, latencies_ns: Vec<u64>) -> String {
        let track = Track::demonstration().unwrap();
        let mut simulation = Simulation::new(&track, Beginning::seed(1), 0.0).unwrap();
        assert!(simulation.run_until(60.0, |so_far| so_far.laps().len() == 2));
        let memory = Memory { resident: 4096, shared: 1024, proportional: None, threads: 1 };
        html(&Drive {
            title,
            track: &track,
            laps: simulation.laps(),
            path: simulation.path(),
            latencies: &[("/light_sensors", Joined { latencies_ns, unmatched: 0, missing: 3 })],
            processes: &[("tracer".to_owned(), Some(memory))],
        })
    }

    #[test]
    fn page_has_every_figure_and_table() {
        let page = page("two laps", (1..500).map(|us| us * 1000).collect());
        for id in ["path", "speed", "deviation", "latency", "light_sensors"] {
            assert!(page.contains(&format!("<figure id=\"{id}\">")), "{id}");
        }
        for id in ["laps", "latencies", "memory", "published"] {
            assert!(page.contains(&format!("<table id=\"{id}\">")), "{id}");
        }
        let curves = page.matches("class=\"lap\"").count();
        assert!((4..=8).contains(&curves), "two laps, two charts: {curves} curves");
        assert!(
            page.contains("<td>250.0</td><td>495.0</td><td>1.0</td><td>499.0</td><td>250.0</td>"),
            "{page}"
        );
        assert!(page.contains("<td>tracer</td><td>4.19 MB</td><td>1.05 MB</td><td>-</td><td>1</td>"));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn slow_outlier_keeps_histogram_readable() {
        let mut latencies: Vec<u64> = (50..150).map(|us| us * 1000).collect();
        latencies.push(40_000_000);
        let page = page("outlier", latencies);
        let (_, from) = page.split_once("<figure id=\"light_sensors\">").unwrap();
        let (figure, _) = from.split_once("</figure>").unwrap();
        assert!(figure.matches("class=\"bar\"").count() >= 4, "{figure}");
    }

    #[test]
    fn drive_without_messages_has_no_latency_figures() {
        let page = page("nothing", Vec::new());
        assert!(!page.contains("id=\"published\""), "{page}");
        assert!(!page.contains("id=\"latency\"") && page.contains("<td>/light_sensors</td><td>-</td>"));
    }

    #[test]
    fn user_text_is_escaped() {
        let page = page("<script>&\"", vec![1000]);
        assert!(page.contains("<h1>&lt;script&gt;&amp;&quot;</h1>") && !page.contains("<script"));
    }

    #[test]
    fn page_is_self_contained() {
        let page = page("a drive", vec![1000, 2000]);
        for external in ["http:", "https:", "src=", "url(", "@import"] {
            assert!(!page.contains(external), "{external}");
        }
    }
}
