//! Text forms of messages: YAML as rostopic prints and accepts it, JSON, and CSV.
//!
//! [`to_yaml`] prints the same bytes as `rostopic echo`, with two exceptions: `char[]`, which rostopic prints as a Python byte
//! string, is a list of numbers as every other array; and times are printed as on the wire, where rostopic normalizes the
//! nanoseconds of top-level times.
//!
//! [`from_yaml`] accepts the input of `rostopic pub`, and the complete output of [`to_yaml`], which rostopic does not (`nan`,
//! `1e+16`, text outside ASCII). It refuses input that rostopic accepts by accident: `true` for a number, 2 for a boolean, a
//! field set twice; also base sixty (`12:30`), `<<` and `!!binary`.
//!
//! Nothing in a text is evaluated. The length of a text ([`MAX_TEXT`]), the depth of its lists and mappings
//! ([`MAX_BRACKETS`]) and the memory of its message are bounded, however often an alias repeats an anchor.

#[cfg(feature = "yaml")]
mod csv;
mod error;
#[cfg(feature = "yaml")]
mod implicit;
mod json;
mod number;
mod parse;
#[cfg(feature = "yaml")]
mod parser;
#[cfg(feature = "yaml")]
mod print;
mod read;
mod seconds;
#[cfg(feature = "yaml")]
mod text;

#[cfg(feature = "yaml")]
pub use csv::{plot_header, plot_row, to_csv, value_to_csv};
pub use error::{YamlError, YamlErrorKind};
pub use json::{to_json, to_json_in, value_to_json};
pub use number::{python_float, yaml_float};
pub use parse::{parse_yaml_bool, parse_yaml_int};
#[cfg(feature = "yaml")]
pub use parser::{Plain, YamlNode, YamlValue, parse_documents, place_of, plain_value};
#[cfg(feature = "yaml")]
pub use print::{EchoOptions, to_yaml, value_to_yaml};
pub use read::{MAX_BRACKETS, MAX_TEXT, from_json};
#[cfg(feature = "yaml")]
pub use read::{from_yaml, from_yaml_args};
#[cfg(feature = "yaml")]
pub use text::block_text;

#[cfg(all(test, feature = "yaml"))]
mod tests;
