//! Options of the originals that this recorder refuses.

use crate::error::CliError;

/// Options of the originals that this recorder does not have.
#[derive(Debug, Default, clap::Args)]
pub struct Unsupported {
    #[arg(long, value_name = "MODE", hide = true)]
    pub compression_mode: Option<String>,

    #[arg(long, value_name = "NAME", hide = true)]
    pub compression_format: Option<String>,
}

impl Unsupported {
    /// # Errors
    /// When an option is given that does not exist here.
    pub fn check(&self) -> Result<(), CliError> {
        let is_compressed = self.compression_mode.as_deref().is_some_and(|mode| mode != "none");
        if is_compressed || self.compression_format.is_some() {
            let why = "the chunks of the bag are compressed. Try: --zstd or --lz4";
            return Err(CliError::Usage(format!("--compression-mode is not supported: {why}")));
        }
        Ok(())
    }
}
