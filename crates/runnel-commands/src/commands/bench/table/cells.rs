//! Rows and numbers in columns.

use crate::commands::bench::statistics::Summary;

/// Width of the columns after the name, and of the name.
pub(super) const COLUMN: usize = 8;
pub(super) const NAME: usize = 16;

/// Shown where there is no figure.
const NOTHING: &str = "-";

/// A line of a table.
pub(super) fn row(name: &str, cells: &[impl AsRef<str>]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{:>COLUMN$}", cell.as_ref())).collect();
    format!("{}\n", format_args!("{:<NAME$}{cells}", shortened(name)).to_string().trim_end())
}

/// A name that fits into the first column.
pub(super) fn shortened(name: &str) -> &str {
    if name.len() < NAME { name } else { name.strip_prefix("floor-").unwrap_or(name) }
}

/// Median, 99th percentile, maximum and minimum, in this unit of nanoseconds.
pub(super) fn figures(summary: Option<Summary>, unit: f64) -> [String; 4] {
    let of = |figure: fn(Summary) -> u64| number(summary.map(|summary| figure(summary) as f64 / unit));
    [
        of(|summary| summary.p50),
        of(|summary| summary.p99),
        of(|summary| summary.max),
        of(|summary| summary.min),
    ]
}

pub(super) fn micros(nanos: Option<f64>) -> String {
    number(nanos.map(|nanos| nanos / 1e3))
}

pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NOTHING.into(), |share| format!("{share:.0}%"))
}

pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NOTHING.into(), |ratio| format!("{ratio:.2}"))
}

/// A number in at most seven characters, with as many decimals as fit.
pub(super) fn number(figure: Option<f64>) -> String {
    match figure {
        None => NOTHING.into(),
        Some(figure) if figure < 100.0 => format!("{figure:.2}"),
        Some(figure) if figure < 10_000.0 => format!("{figure:.1}"),
        Some(figure) if figure < 1e7 => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_into_their_column() {
        for figure in [0.0, 0.004, 99.99, 100.0, 9999.94, 12_345.6, 9_999_999.4, 1e12] {
            let text = number(Some(figure));
            assert!(text.len() < COLUMN, "{text}");
        }
        assert_eq!(number(None), "-");
    }

    #[test]
    fn long_names_fit_into_their_column() {
        assert_eq!(row("floor-unix-seqpacket", &["1.00"]), "unix-seqpacket      1.00\n");
        assert_eq!(row("floor-tcp", &["1.00"]), "floor-tcp           1.00\n");
    }
}
