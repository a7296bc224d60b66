//! Messages from the arguments or standard input, published at a rate.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::RecvTimeoutError;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Generation;
use runnel::core::yaml;
use runnel::{Context, DynamicPublisher, Rate};
use runnel_io::clock;

use super::{Args, message, wrong_message};
use crate::error::CliError;
use crate::messages::documents;
use crate::output::Output;
use crate::streaming::POLL_PERIOD;

/// See the module's documentation.
pub struct Job<'a> {
    pub args: &'a Args,
    pub context: &'a Context,
    pub publisher: &'a DynamicPublisher,
    /// The generation whose form messages have.
    pub generation: Generation,
    pub output: Output,
    /// Number of published messages.
    pub published: Cell<u64>,
}

impl Job<'_> {
    pub fn publish_latched(&self) -> Result<(), CliError> {
        self.publish(&message(self.publisher.schema(), &self.args.values)?)?;
        self.output.note("publishing one latched message; Ctrl-C ends");
        Ok(self.context.spin()?)
    }

    pub fn publish_repeatedly(&self) -> Result<(), CliError> {
        let values = &self.args.values;
        // Values with these words change from message to message.
        let changes = values.iter().any(|value| value.contains("now") || value.contains("auto"));
        let typed = || message(self.publisher.schema(), values);
        let mut next = typed()?;
        let mut rate = Rate::new(self.context, self.args.rate.unwrap_or(1.0))?;
        let mut left = self.args.times();
        while self.context.ok() && left != Some(0) {
            self.publish(&next)?;
            left = left.map(|left| left - 1);
            if left != Some(0) {
                rate.sleep()?;
            }
            if changes {
                next = typed()?;
            }
        }
        Ok(())
    }

    pub fn publish_documents(&self) -> Result<(), CliError> {
        let mut rate = self.args.rate.map(|hertz| Rate::new(self.context, hertz)).transpose()?;
        let documents = documents(io::stdin);
        while self.context.ok() {
            let text = match documents.recv_timeout(POLL_PERIOD) {
                Ok(text) => text?,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let schema = self.publisher.schema();
            let message = yaml::from_yaml(schema, &text, clock::realtime());
            self.publish(&message.map_err(|error| wrong_message(schema, &error))?)?;
            rate.as_mut().map_or(Ok(()), Rate::sleep)?;
        }
        Ok(())
    }

    fn publish(&self, message: &DynamicMessage) -> Result<(), CliError> {
        self.publisher.publish(message)?;
        self.published.set(self.published.get() + 1);
        if !self.args.prints(self.published.get()) {
            return Ok(());
        }
        let generation = self.generation;
        let options = yaml::EchoOptions { generation, ..yaml::EchoOptions::default() };
        let text = || format!("publishing:\n{}\n", yaml::to_yaml(message, &options));
        self.output.answer(text, || yaml::to_json_in(generation, message))
    }
}
