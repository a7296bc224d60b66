//! Options of the originals that this recorder refuses or ignores.

use std::path::PathBuf;

use crate::error::CliError;

/// Options of the originals that this recorder does not need or does not have.
#[derive(Debug, Default, clap::Args)]
pub struct Unsupported {
    #[arg(long, value_name = "BYTES", hide = true)]
    pub max_cache_size: Option<u64>,

    #[arg(long, hide = true)]
    pub snapshot_mode: bool,

    #[arg(long, value_name = "MODE", hide = true)]
    pub compression_mode: Option<String>,

    #[arg(long, value_name = "NAME", hide = true)]
    pub compression_format: Option<String>,

    #[arg(long, value_name = "FILE", hide = true)]
    pub qos_profile_overrides_path: Option<PathBuf>,

    #[arg(long, value_name = "SERVICE", num_args = 1.., hide = true)]
    pub services: Vec<String>,
}

impl Unsupported {
    /// # Errors
    /// When an option is given that does not exist here.
    pub fn check(&self) -> Result<(), CliError> {
        let refused =
            |option: &str, why: &str| Err(CliError::Usage(format!("{option} is not supported: {why}")));
        if self.snapshot_mode {
            return refused(
                "--snapshot-mode",
                "only the whole recording is kept. Try: --split with --max-splits",
            );
        }
        if self.compression_mode.is_some() || self.compression_format.is_some() {
            return refused(
                "--compression-mode",
                "the chunks of the bag are compressed. Try: --zstd or --lz4",
            );
        }
        if self.qos_profile_overrides_path.is_some() {
            let why = "each publisher is asked for the best QoS that it offers. Try: without it";
            return refused("--qos-profile-overrides-path", why);
        }
        if let Some(service) = self.services.first() {
            let why = format!("calls are on a topic. Try: {service}/_service_event");
            return refused("--services", &why);
        }
        Ok(())
    }
}
