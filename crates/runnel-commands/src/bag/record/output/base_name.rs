//! Names of recordings.

use std::path::PathBuf;

use runnel::core::time::Time;
use runnel_io::clock;

/// How a recording is named, without number and extension.
#[derive(Clone, Debug)]
pub enum BaseName {
    /// This name.
    Exact(PathBuf),
    /// The date, behind this prefix and an underscore if it is not empty.
    Date(String),
    /// The date as `ros2 bag` writes it.
    Rosbag2Date,
}

impl BaseName {
    /// The name at a time.
    pub fn at(&self, now: Time) -> PathBuf {
        let [year, month, day, hour, minute, second] = clock::local_date(now);
        let prefix = match self {
            Self::Exact(name) => return name.clone(),
            Self::Rosbag2Date => {
                let date = format!("{year}_{month:02}_{day:02}-{hour:02}_{minute:02}_{second:02}");
                return PathBuf::from(format!("rosbag2_{date}"));
            }
            Self::Date(prefix) if prefix.is_empty() => String::new(),
            Self::Date(prefix) => format!("{prefix}_"),
        };
        PathBuf::from(format!("{prefix}{year}-{month:02}-{day:02}-{hour:02}-{minute:02}-{second:02}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_stands_behind_the_prefix() {
        let name = |base: BaseName| base.at(Time { sec: 1_700_000_000, nanosec: 0 }).display().to_string();
        assert!(name(BaseName::Date(String::new())).starts_with("2023-11-1"));
        assert!(name(BaseName::Date("a/b".into())).starts_with("a/b_2023-11-1"));
        assert!(name(BaseName::Rosbag2Date).starts_with("rosbag2_2023_11_1"));
        assert_eq!(name(BaseName::Exact("x.y".into())), "x.y");
    }
}
