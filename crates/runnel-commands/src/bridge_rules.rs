//! Files with rules for types that have other names in the other generation, in the format of `ros1_bridge`.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

use runnel_bridge::Rules;

use crate::error::CliError;

/// The rules of these files, and the built-in ones behind them.
///
/// # Errors
/// When a file cannot be read, or a rule is malformed.
pub fn read(paths: &[PathBuf]) -> Result<Rules, CliError> {
    let mut rules = Rules::default();
    for path in paths {
        let failed = |error: &dyn Display| CliError::Failed(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        rules.add(&text).map_err(|error| failed(&error))?;
    }
    Ok(rules)
}
