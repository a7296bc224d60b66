//! Conversion plan of a pair of types: the two definitions are walked once, and each message is then copied in runs.
//!
//! A plan reads every encoding of its source generation and writes the usual one of its target generation: ROS 1, or
//! XCDR1 with its encapsulation header. Numbers that both encodings lay out alike are copied in one run.

mod compile;
mod defaults;
mod element;
mod error;
mod execute;
mod output;
mod picked;
mod size;
mod step;

pub use error::{CompileError, ConvertError, ConvertErrorKind};
pub use execute::Notes;

use std::sync::Arc;

use runnel_core::schema::{Generation, Schema};
use runnel_core::wire::{Bytes, Encoding, Reader, cdr};

use crate::rules::Rules;
use compile::Compiler;
use execute::Execution;
use output::Output;
use step::Step;

/// What begins every ROS 2 payload that a plan writes: XCDR1, little endian.
const XCDR1_HEADER: [u8; cdr::HEADER_LEN] = [0, 1, 0, 0];

/// Conversion of the messages of one type to the form of the other generation.
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
    to: Generation,
    dropped: Vec<String>,
    defaulted: Vec<String>,
}

impl Plan {
    /// Compiles the conversion from one definition to that of the other generation.
    ///
    /// # Errors
    /// If the fields of the types do not correspond, or a field has no form in the other generation.
    pub fn compile(from: &Arc<Schema>, to: &Arc<Schema>, rules: &Rules) -> Result<Self, CompileError> {
        let mut compiler = Compiler::new(rules, from.generation);
        let steps = compiler.message(from, to)?;
        let (dropped, defaulted) = compiler.into_differences();
        Ok(Self { steps, to: to.generation, dropped, defaulted })
    }

    /// Fields of the source that the target does not have.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Fields of the target that the source does not have. They get their defaults.
    pub fn defaulted(&self) -> &[String] {
        &self.defaulted
    }

    /// Replaces the content of `out` by the converted message. Says what of the message peers may not see.
    ///
    /// # Errors
    /// If the bytes are not a message of the source type, or a value has no form in the target type. The content of
    /// `out` is unspecified then.
    pub fn convert(
        &self,
        message: Bytes<'_>,
        encoding: Encoding,
        out: &mut Vec<u8>,
    ) -> Result<Notes, ConvertError> {
        out.clear();
        let mut reader = if encoding.is_ros1() { Reader::new(message) } else { cdr::reader(message)? };
        if self.to == Generation::Ros2 {
            out.extend_from_slice(&XCDR1_HEADER);
        }
        let mut execution = Execution::new(Output::new(out, self.to));
        execution.run(&self.steps, &mut reader)?;
        reader.finish()?;
        Ok(execution.into_notes())
    }
}
