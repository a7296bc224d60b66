//! What a node in WebAssembly may do.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// What a node may do: the names that it may use, and how much it may take.
///
/// ```
/// let manifest = runnel_wasm::Manifest::parse(
///     r#"
///     nodes = ["tracer"]
///     publish = ["cmd_vel", "leds"]
///     subscribe = ["light_sensors"]
///     call = ["motor_power"]
///
///     [limits]
///     memory = "16 MiB"
///     callback = "1 s"
///     "#,
/// )?;
/// assert!(manifest.publish.allows("cmd_vel"));
/// assert!(!manifest.publish.allows("odom"));
/// # Ok::<(), runnel_wasm::manifest::ManifestError>(())
/// ```
///
/// Names are those that the node itself uses, before remapping. A `*` at the end stands for any rest.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    /// Names that its nodes may have, without a namespace: that is the host's to choose.
    pub nodes: Names,
    /// Topics that it may publish.
    pub publish: Names,
    /// Topics that it may subscribe to.
    pub subscribe: Names,
    /// Services that it may call.
    pub call: Names,
    /// Services that it may offer.
    pub serve: Names,
    /// Actions whose servers it may send goals.
    pub send_goals: Names,
    /// Actions that it may offer.
    pub execute: Names,
    /// How much it may take.
    pub limits: Limits,
}

/// How much a node may take.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of linear memory: `memory = "16 MiB"`.
    #[serde(deserialize_with = "size")]
    pub memory: usize,
    /// Bytes of events that wait for the node.
    #[serde(deserialize_with = "size")]
    pub queue: usize,
    /// Nodes, publishers, subscriptions, services, clients and timers together, and as many parameters.
    pub entities: usize,
    /// Longest time between two calls of `wait`; none if zero: `callback = "1 s"`.
    #[serde(deserialize_with = "duration")]
    pub callback: Duration,
    /// The share of one processor, over each second: `cpu = 0.5`.
    pub cpu: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            queue: 16 << 20,
            entities: 1000,
            callback: Duration::from_secs(10),
            cpu: 1.0,
        }
    }
}

/// Names of topics, services or actions. A `*` at the end of a name stands for any rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Names(Vec<String>);

impl Names {
    /// Whether a name is among them.
    pub fn allows(&self, name: &str) -> bool {
        self.0.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => allowed == name,
        })
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }
}

/// Why a text is no manifest.
#[derive(Debug)]
pub struct ManifestError(String);

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for ManifestError {}

impl Manifest {
    /// Reads a manifest in TOML.
    ///
    /// # Errors
    /// The line that is wrong, and why.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text).map_err(|error| ManifestError(error.to_string()))?;
        manifest.limits.check()?;
        Ok(manifest)
    }

    /// A manifest that allows all names, with the default limits.
    pub fn allowing_all_names() -> Self {
        let all = || Names::from_iter(["*"]);
        Self {
            nodes: all(),
            publish: all(),
            subscribe: all(),
            call: all(),
            serve: all(),
            send_goals: all(),
            execute: all(),
            limits: Limits::default(),
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), ManifestError> {
        if self.cpu > 0.0 && self.cpu <= 1.0 {
            return Ok(());
        }
        Err(ManifestError(format!(
            "limits.cpu is {}: it is the share of one processor, above 0 and up to 1",
            self.cpu
        )))
    }
}

fn size<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let text = String::deserialize(deserializer)?;
    let bytes = quantity(&text, &units).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no size, such as \"16 MiB\"")))
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let units = [("ms", 1_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000)];
    let text = String::deserialize(deserializer)?;
    let nanoseconds = quantity(&text, &units);
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| {
        serde::de::Error::custom(format!("{text:?} is no duration, such as \"500 ms\" or \"10 s\""))
    })
}

/// A whole number with a unit. The units are tried in order.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_or_begin_alike() {
        let names = Names::from_iter(["cmd_vel", "/camera/*"]);
        let allowed = ["cmd_vel", "/camera/image", "/camera/"].map(|name| names.allows(name));
        assert_eq!(allowed, [true; 3]);
        let refused = ["/cmd_vel", "cmd_vel2", "/camera", ""].map(|name| names.allows(name));
        assert_eq!(refused, [false; 4]);
    }

    #[test]
    fn empty_manifest_allows_no_name() {
        let manifest = Manifest::parse("").unwrap();
        assert_eq!(manifest, Manifest::default());
        assert!(!manifest.publish.allows("chatter"));
    }

    #[test]
    fn limits_have_units() {
        let text = "[limits]\nmemory = \"2 MiB\"\nqueue = \"500 KiB\"\ncallback = \"250 ms\"\ncpu = 0.25";
        let limits = Manifest::parse(text).unwrap().limits;
        let expected = Limits {
            memory: 2 << 20,
            queue: 500 << 10,
            callback: Duration::from_millis(250),
            cpu: 0.25,
            ..Limits::default()
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn error_names_the_line_and_the_reason() {
        let why = |text| Manifest::parse(text).unwrap_err().to_string();
        for (text, parts) in [
            ("publish = 3", ["line 1", "invalid type"]),
            ("publsh = []", ["publsh", "publish"]),
            ("[limits]\nmemory = \"much\"", ["line 2", "such as \"16 MiB\""]),
            ("[limits]\ncallback = \"1 h\"", ["line 2", "such as \"500 ms\""]),
            ("[limits]\nmemory = \"99999999999 GiB\"", ["line 2", "is no size"]),
            ("[limits]\ncpu = 2.0", ["limits.cpu", "up to 1"]),
        ] {
            let why = why(text);
            assert!(parts.iter().all(|part| why.contains(part)), "{text}: {why}");
        }
    }
}
