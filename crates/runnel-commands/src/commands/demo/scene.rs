//! The simulated scene: the track, and how the drive begins.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use line_trace::body::Simulated;
use line_trace::operator::{Beginning, Operator};
use line_trace::track::{TRACKS, Track};

use crate::completion;
use crate::error::CliError;

/// Most bytes read of a track's file. The parser refuses longer text.
const LONGEST: u64 = 1 << 17;

#[derive(Debug, clap::Args)]
pub struct Scene {
    #[arg(long, default_value = TRACKS[0].0, value_name = "NAME", help = help(),
        add = completion::names_or_files(TRACKS.iter().map(|(name, _)| *name)))]
    track: String,

    /// Starting position on the line, metres from the middle of the first straight
    #[arg(long, default_value_t = 0.0, value_name = "METRES", value_parser = metres, allow_negative_numbers = true)]
    start: f64,

    /// Seed of the random numbers: tolerances of the robot, noise of sensors and wheels, how it is set down
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

impl Scene {
    /// The arguments that describe the same scene.
    pub fn arguments(&self) -> Vec<String> {
        let Self { track, start, seed } = self;
        [("track", track.clone()), ("start", start.to_string()), ("seed", seed.to_string())]
            .map(|(name, value)| format!("--{name}={value}"))
            .into()
    }

    /// The track's name, or its file.
    pub fn name(&self) -> &str {
        &self.track
    }

    /// Reads the track, and checks that a robot can be shown floor and line there.
    ///
    /// # Errors
    /// When no track has that name, or its file cannot be read or is no valid track.
    pub fn track(&self) -> Result<Track, CliError> {
        let known = TRACKS.iter().find(|(name, _)| *name == self.track);
        let text = known.map_or_else(|| self.read(), |(_, text)| Ok((*text).to_owned()))?;
        let track = Track::parse(&text).map_err(|error| self.refused(&error))?;
        Operator::new(&track, self.beginning()).map_err(|error| self.refused(&error))?;
        Ok(track)
    }

    /// The robot in its box next to the track.
    ///
    /// # Errors
    /// As [`Scene::track`].
    pub fn robot(&self) -> Result<Simulated, CliError> {
        Simulated::new(self.track()?, self.beginning()).map_err(|error| self.refused(&error))
    }

    /// How the drive begins.
    fn beginning(&self) -> Beginning {
        Beginning { seed: self.seed, at: self.start }
    }

    fn refused(&self, error: &dyn std::error::Error) -> CliError {
        CliError::Failed(format!("track {}: {error}", self.track))
    }

    fn read(&self) -> Result<String, CliError> {
        let file = Path::new(&self.track);
        let mut text = String::new();
        let read = File::open(file).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        match read {
            Ok(_) => Ok(text),
            Err(_) if !file.exists() => Err(CliError::Usage(format!(
                "no track {} and no such file; the tracks are {}",
                self.track,
                names()
            ))),
            Err(error) => Err(CliError::Failed(format!("track {}: {error}", self.track))),
        }
    }
}

fn help() -> String {
    format!("The track: {}, or a file that describes one", names())
}

fn names() -> String {
    TRACKS.map(|(name, _)| name).join(", ")
}

fn metres(text: &str) -> Result<f64, String> {
    let metres = text.parse().ok().filter(|metres: &f64| metres.is_finite());
    metres.ok_or_else(|| "a number of metres".to_owned())
}

#[cfg(test)]
impl Scene {
    /// The default track.
    pub(super) fn example() -> Self {
        Self { track: TRACKS[0].0.to_owned(), start: 0.0, seed: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(track: &str) -> Scene {
        Scene { track: track.to_owned(), ..Scene::example() }
    }

    #[test]
    fn track_has_a_name_or_a_file() {
        assert!(scene("oval").track().is_ok());
        let file = std::env::temp_dir().join(format!("runnel-track-{}", std::process::id()));
        std::fs::write(&file, TRACKS[1].1).unwrap();
        let named = scene(file.to_str().unwrap());
        assert!(named.track().is_ok());
        std::fs::write(&file, "floor 1 1\nround").unwrap();
        let refused = named.track().unwrap_err().to_string();
        assert!(refused.contains(": line 2: \"round\" is none of "), "{refused}");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn unknown_track_error_lists_all_tracks() {
        let refused = scene("ovla").track().unwrap_err().to_string();
        assert!(
            refused.contains(
                "no track ovla and no such file; the tracks are course, oval, corners, gap, crossing"
            ),
            "{refused}"
        );
    }
}
