//! `runnel interface find`

use runnel::core::schema::Kind;

use super::known::{Kinds, Only};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::lines;
use crate::types::Types;

/// List the known types with a word in their names
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The word, such as twist; upper and lower case are the same
    word: String,

    #[command(flatten)]
    kinds: Kinds,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let found = args.find(&cli.types()?);
    cli.output.answer(|| lines(&found), || found.iter().map(String::as_str).collect())
}

impl Args {
    fn find(&self, types: &Types) -> Vec<String> {
        let word = self.word.to_lowercase();
        let of_kind = |kind: Kind| self.only.names(types, kind).into_iter().map(|(_, spelling)| spelling);
        let all = self.kinds.wanted().into_iter().flat_map(of_kind);
        all.filter(|name| name.to_lowercase().contains(&word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_of_the_word_does_not_matter() {
        let types = Types::new(&[]).expect("no folder to read");
        let find = |word: &str| {
            Args { word: word.into(), kinds: Kinds::default(), only: Only::default() }.find(&types)
        };
        assert!(find("twist").contains(&"geometry_msgs/msg/TwistStamped".to_owned()));
        assert_eq!(find("setbool"), find("SetBool"));
        assert!(find("setbool").contains(&"std_srvs/srv/SetBool".to_owned()));
        assert!(find("no such type").is_empty());
    }
}
