//! Drives laps without messaging and draws them: `cargo run --example lap -- picture.png [seed] [laps]`.

use line_trace::lap::Lap;
use line_trace::{picture, sim::Simulation, track::Track};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give the name of the PNG to write")?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let laps = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let track = Track::demonstration()?;
    let mut simulation = Simulation::new(&track, seed, 0.0);
    if !simulation.run_until(10.0 + 20.0 * laps as f64, |so_far| so_far.laps().len() >= laps) {
        return Err(format!("only {} of {laps} laps were completed", simulation.laps().len()).into());
    }
    simulation.laps().iter().for_each(|lap| println!("{lap}"));
    let detail = simulation.laps().last().map(Lap::to_string).unwrap_or_default();
    let title = "line trace: path of the sensor row";
    picture::write_png(&track, simulation.path(), title, &detail, BufWriter::new(File::create(file)?))?;
    Ok(())
}
