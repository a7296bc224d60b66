//! A recording that runs: keys, services, and what is shown of it.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use runnel::{Context, Node};

use super::begun_bags::BegunBags;
use super::events::Events;
use super::recorder::{Progress, Recorder};
use super::report::Speed;
use crate::bag::keys::{Key, Keys};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output;

/// How often the recorder looks for topics.
const STEP: Duration = Duration::from_millis(100);

/// How often the progress is shown.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// The key that pauses and goes on.
const PAUSE: Key = Key::Char(b' ');

/// What the terminal is used for.
#[derive(Clone, Copy, Debug)]
pub struct TerminalUse {
    /// Only errors are shown, and no keys are read.
    pub is_quiet: bool,
    pub reads_keys: bool,
}

/// A recording that runs.
pub struct Running<'a> {
    cli: &'a CliContext,
    terminal: TerminalUse,
    started: Instant,
    /// The events of the ROS 2 graph.
    events: Option<Events>,
    /// What publishes the names of bags.
    begun: Option<BegunBags>,
}

impl<'a> Running<'a> {
    /// A recording that begins now.
    pub fn new(
        cli: &'a CliContext,
        terminal: TerminalUse,
        events: Option<Events>,
        begun: Option<BegunBags>,
    ) -> Self {
        Self { cli, terminal, started: Instant::now(), events, begun }
    }

    /// Records until Ctrl-C or a limit, and completes the bag.
    ///
    /// # Errors
    /// When the recording fails.
    pub fn record(mut self, context: &Context, node: Node, mut recorder: Recorder) -> Result<(), CliError> {
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
        if self.terminal.is_quiet {
            return Ok(());
        }
        self.cli.output.answer(|| progress.result(elapsed), || progress.result_json(elapsed))
    }

    fn watch(&mut self, context: &Context, recorder: &mut Recorder) -> Result<(), CliError> {
        let TerminalUse { is_quiet, reads_keys } = self.terminal;
        let keys = (reads_keys && !is_quiet).then(Keys::open).flatten();
        let shows_line = !is_quiet && !self.cli.output.json && io::stderr().is_terminal();
        let (mut speed, mut reported) = (Speed::default(), None::<Instant>);
        let control = recorder.control().clone();
        while context.ok() && !recorder.has_ended() && !control.is_stopped() {
            recorder.step()?;
            for split in recorder.take_splits() {
                self.events.iter().for_each(|events| events.publish_split(&split));
                self.begun.iter().for_each(|begun| begun.publish(&split.opened));
            }
            if let Some(events) = &mut self.events {
                events.publish_losses(|| recorder.progress());
            }
            if keys.as_ref().and_then(Keys::pressed) == Some(PAUSE) {
                control.set_paused(!control.is_paused());
                reported = None;
            }
            if reported.is_none_or(|reported| reported.elapsed() >= REPORT_PERIOD) {
                reported = Some(Instant::now());
                self.report(&recorder.progress(), &mut speed, shows_line, control.is_paused())?;
            }
            context.sleep_wall(STEP)?;
        }
        if shows_line {
            output::end_status();
        }
        Ok(())
    }

    fn report(
        &self,
        progress: &Progress,
        speed: &mut Speed,
        shows_line: bool,
        is_paused: bool,
    ) -> Result<(), CliError> {
        let elapsed = self.started.elapsed();
        if shows_line {
            output::print_status(&progress.line(elapsed, speed.update(elapsed, progress.len), is_paused));
        } else if self.cli.output.json && !self.terminal.is_quiet {
            self.cli.output.json(&progress.json(elapsed))?;
        }
        Ok(())
    }
}
