//! `runnel bag record`

mod arguments;
mod arrival;
mod channels;
mod definitions;
mod latched;
mod limits;
mod loss;
mod output_files;
mod periodic_sync;
mod plan;
mod recorder;
#[cfg(test)]
mod recorder_tests;
mod report;
mod sink;
#[cfg(test)]
mod sink_tests;
mod topic_selection;
mod unsupported;

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use runnel::{Context, Graphs, Node};
use runnel_bag::mcap::Profile;

pub use arguments::Args;
pub use definitions::{has_sum, stored};
use output_files::OutputFiles;
use plan::Plan;
use recorder::{Progress, Recorder};
use report::Speed;
pub use sink::LOSS;
pub use unsupported::Unsupported;

use super::keys::{Key, Keys};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output;

/// How often the recorder looks for topics.
const STEP: Duration = Duration::from_millis(100);

/// How often the progress is shown.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// The key that pauses and goes on.
const PAUSE: Key = Key::Char(b' ');

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    let plan = args.plan(cli)?;
    let context = plan.open(cli)?;
    let node = cli.node(&context, "record")?;
    let profile = match context.graphs() {
        Graphs::Ros1 => Profile::Ros1,
        Graphs::Ros2 => Profile::Ros2,
        Graphs::Both => Profile::None,
    };
    let files = OutputFiles::new(plan.base.clone(), plan.format, profile, plan.options.limits.split);
    let files = Box::new(files.keeping(plan.max_splits));
    let Plan { options, is_quiet, is_paused, .. } = plan;
    let recorder = Recorder::new(&node, files, options, cli.types_loader())?;
    recorder.set_paused(is_paused);
    if !is_quiet {
        let files = recorder.progress().files;
        files.iter().for_each(|file| cli.output.note(&format!("recording into {}", file.display())));
    }
    let running = Running { cli, is_quiet, is_paused, started: Instant::now() };
    running.record(&context, node, recorder)
}

/// A recording that runs.
struct Running<'a> {
    cli: &'a CliContext,
    is_quiet: bool,
    is_paused: bool,
    started: Instant,
}

impl Running<'_> {
    /// Records until Ctrl-C or a limit, and completes the bag.
    fn record(mut self, context: &Context, node: Node, mut recorder: Recorder) -> Result<(), CliError> {
        let spinning = {
            let context = context.clone();
            thread::spawn(move || context.spin())
        };
        let recorded = self.watch(context, &mut recorder);
        let elapsed = self.started.elapsed();
        // Nothing more arrives, whatever has ended the recording.
        context.shutdown();
        let finished = recorder.finish();
        drop(node);
        if let Ok(spun) = spinning.join() {
            spun?;
        }
        recorded?;
        let progress = finished?;
        if self.is_quiet {
            return Ok(());
        }
        self.cli.output.answer(|| progress.result(elapsed), || progress.result_json(elapsed))
    }

    fn watch(&mut self, context: &Context, recorder: &mut Recorder) -> Result<(), CliError> {
        let keys = Keys::open().filter(|_| !self.is_quiet);
        let shows_line = !self.is_quiet && !self.cli.output.json && io::stderr().is_terminal();
        let (mut speed, mut reported) = (Speed::default(), None::<Instant>);
        while context.ok() && !recorder.has_ended() {
            recorder.step()?;
            if keys.as_ref().and_then(Keys::pressed) == Some(PAUSE) {
                self.is_paused = !self.is_paused;
                recorder.set_paused(self.is_paused);
                reported = None;
            }
            if reported.is_none_or(|reported| reported.elapsed() >= REPORT_PERIOD) {
                reported = Some(Instant::now());
                self.report(&recorder.progress(), &mut speed, shows_line)?;
            }
            context.sleep_wall(STEP)?;
        }
        if shows_line {
            output::end_status();
        }
        Ok(())
    }

    fn report(&self, progress: &Progress, speed: &mut Speed, shows_line: bool) -> Result<(), CliError> {
        let elapsed = self.started.elapsed();
        if shows_line {
            output::print_status(&progress.line(
                elapsed,
                speed.update(elapsed, progress.len),
                self.is_paused,
            ));
        } else if self.cli.output.json && !self.is_quiet {
            self.cli.output.json(&progress.json(elapsed))?;
        }
        Ok(())
    }
}
