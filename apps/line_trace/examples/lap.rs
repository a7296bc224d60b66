//! Drives laps without messaging and draws them: `cargo run --example lap -- page.html [track file] [seed] [laps]`.

use line_trace::operator::Beginning;
use line_trace::page::{self, Drive};
use line_trace::sim::Simulation;
use line_trace::track::{TRACKS, Track};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give the name of the page to write")?;
    let text = arguments.next().map_or(Ok(TRACKS[0].1.to_owned()), std::fs::read_to_string)?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let laps = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let track = Track::parse(&text)?;
    let mut simulation = Simulation::new(&track, Beginning::seed(seed), 0.0)?;
    if !simulation.run_until(10.0 + 20.0 * laps as f64, |so_far| so_far.laps().len() >= laps) {
        return Err(format!("only {} of {laps} laps were completed", simulation.laps().len()).into());
    }
    simulation.laps().iter().for_each(|lap| println!("{lap}"));
    let (laps, path) = (simulation.laps(), simulation.path());
    let drive =
        Drive { title: "Laps without messaging", track: &track, laps, path, latencies: &[], processes: &[] };
    Ok(std::fs::write(file, page::html(&drive))?)
}
