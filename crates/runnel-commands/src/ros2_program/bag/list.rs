//! `ros2 bag list`

use clap::ValueEnum;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// List the formats that are written, or what there is of a kind of plug-in
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Kind of plug-in in ros2 bag
    #[arg(value_name = "KIND")]
    kind: Option<Kind>,

    /// Also describe each
    #[arg(long)]
    verbose: bool,
}

/// A kind of plug-in of `ros2 bag`. Here they are parts of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Storage,
    Converter,
    #[value(alias = "compressor")]
    Compression,
    #[value(alias = "decompressor")]
    Decompression,
}

/// A name of `ros2 bag`, and what is there by that name.
type Part = (&'static str, &'static str);

const MCAP: Part = ("mcap", "MCAP files, read and written");
const SQLITE: Part = ("sqlite3", "SQLite files, only read");
const ZSTD: Part =
    ("zstd", "Zstandard: chunks of MCAP files are compressed, whole files and messages only read");

impl Kind {
    fn parts(self) -> &'static [Part] {
        match self {
            Self::Storage if cfg!(feature = "sqlite") => &[MCAP, SQLITE],
            Self::Storage => &[MCAP],
            // Messages are stored in CDR, as they arrive.
            Self::Converter => &[],
            Self::Compression | Self::Decompression => &[ZSTD],
        }
    }
}

pub fn run(args: &ListArgs, cli: &CliContext) -> Result<(), CliError> {
    let parts = args.kind.map_or(&[MCAP][..], Kind::parts);
    if parts.is_empty() {
        cli.output.note("no converters: messages are recorded in cdr, as they arrive");
    }
    parts.iter().try_for_each(|part| cli.output.paragraph(&text(*part, args.verbose)))
}

/// The lines about a part.
fn text((name, description): Part, is_verbose: bool) -> String {
    if is_verbose { format!("name: {name}\n\t{description}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_names_of_ros2_bag() {
        let names = |kind: Kind| kind.parts().iter().map(|part| text(*part, false)).collect::<Vec<_>>();
        assert_eq!(names(Kind::Storage)[0], "mcap");
        assert_eq!(names(Kind::Converter), [""; 0]);
        assert_eq!(names(Kind::Compression), ["zstd"]);
        assert_eq!(text(MCAP, true), "name: mcap\n\tMCAP files, read and written");
    }
}
