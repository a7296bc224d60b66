//! Options of the originals that have no meaning here.

/// Options that are accepted with a note.
#[derive(Debug, Default, clap::Args)]
pub struct AcceptedArgs {
    #[arg(long, value_name = "MILLISECONDS", hide = true)]
    pub polling_interval: Option<u64>,

    #[arg(long, value_name = "N", hide = true)]
    pub compression_queue_size: Option<u64>,

    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true, hide = true)]
    pub compression_threads_priority: Option<i32>,
}

impl AcceptedArgs {
    /// The notes, one a line.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        let notes = [
            (
                self.polling_interval.is_some(),
                "--polling-interval has no meaning here: topics are looked for every 100 ms",
            ),
            (
                self.compression_queue_size.is_some(),
                "--compression-queue-size has no meaning here: memory has two chunks for each thread",
            ),
            (
                self.compression_threads_priority.is_some(),
                "--compression-threads-priority has no meaning here: threads have the priority of the program",
            ),
        ];
        notes.into_iter().filter_map(|(is_given, note)| is_given.then_some(note))
    }
}
